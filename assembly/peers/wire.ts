/**
 * What gateways send each other, little endian. Times are ages at the time of sending, so clocks need not agree.
 *
 * ```
 * head                                                                                            40 bytes
 * ┌───────┬─────────┬──────┬───────┬───────┬─────────┬──────────┬────────┬────────┬─────────┬───────┬────────┐
 * │magic 3│version 1│kind 1│flags 1│hosts 2│gateway 8│sequence 4│places 2│secret 2│sent ms 8│count 4│cursor 4│
 * └───────┴─────────┴──────┴───────┴───────┴─────────┴──────────┴────────┴────────┴─────────┴───────┴────────┘
 * of updates: prompts proposed so far 2, and settled 2, in place of `count`; of their answers: `sequence` of the answering
 * gateway's last update
 * update: what is held 24 (held.ts), then per host                                                                                40 bytes
 * ┌──────────────┬─────┬─────┬─────────┬───────────┬───────────────┬─────────────┬─────────────────────┬─────────┐
 * │address hash 8│q 2  │d 2  │work ms 4│context 4  │age of newest 4│token clock 8│speeds 6 (learned.ts)│streams 2│
 * └──────────────┴─────┴─────┴─────────┴───────────┴───────────────┴─────────────┴─────────────────────┴─────────┘
 * then per placement                                                                    24 + 8 n bytes
 * ┌──────┬───┬────────────────────┬────────┬──────────────┬──────────────┬─────────────┬──────────┐
 * │host 2│n 2│fork, log uncached 1│length 1│cached 2 (64s)│conversation 8│of any model 8│n × id 8 │
 * └──────┴───┴────────────────────┴────────┴──────────────┴──────────────┴─────────────┴──────────┘
 * page of a table: `hosts` × address hash 8, then `count` entries                       16 bytes each
 * ┌─────┬──────┬───────┬───┬─────────────────────┐
 * │tag 8│host 2│forks 1│ 1 │age 4 (16-token ticks)│
 * └─────┴──────┴───────┴───┴─────────────────────┘
 * ```
 *
 * Hosts are named by a hash of their address, for slots differ between gateways. Whatever changes the meaning of a hash, a
 * chain id or this layout raises VERSION: then gateways of both versions decide each on their own until all are alike.
 */

/** "WRP". */
export const MAGIC: u32 = 0x505257;
export const VERSION: u8 = 6;

export const HEAD_BYTES: i32 = 40;
/** What an update says of held requests. */
export const HELD_BYTES: i32 = 24;
export const ROW_BYTES: i32 = 40;
export const PLACEMENT_HEAD: i32 = 24;
export const PAGE_ENTRY: i32 = 16;
/** Longest message; longer ones are refused unread. */
export const MAX_MESSAGE: i32 = 65536;
/** Most boundaries of one placement. */
export const MAX_IDS: i32 = 512;
/** Most entries of one page of a table. */
export const MAX_PAGE_ENTRIES: i32 = 3400;

/** Largest values that are believed; more is taken for damage. */
export const MAX_WORK_MS: f64 = 1e7;
export const MAX_CONTEXT: f64 = 1e10;
export const MAX_AGE_MS: f64 = 1e9;
export const MAX_CLOCK: f64 = 1e15;
