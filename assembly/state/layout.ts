/**
 * Byte layouts of what all workers share. Every value starts with LAYOUT_VERSION, and so do the keys (keys.ts): one without
 * it was made sure of, and not yet written.
 *
 * ```
 * host directory      16-byte head, then one box a slot                            one value
 * ┌──────────┬────────┬────────┐ ┌─────┬─────┬─────────┬───────┬──────┬────────────┬─────────────┐
 * │version 4 │count 4 │  8     │ │len 1│gen 1│sources 1│flags 1│  4   │last seen 8 │address 48   │ …
 * └──────────┴────────┴────────┘ └─────┴─────┴─────────┴───────┴──────┴────────────┴─────────────┘
 *
 * worker row          88-byte head, then one box a host slot                       one value a worker
 * ┌──────────┬─────┬──────────────┬──────────┬───────┬──────┬────────────┬────────┐
 * │version 4 │seq 4│heartbeat ms 8│instance 8│count 4│held 4│held bytes 8│logged 8│   who is next in the worker's queue:
 * ├──────────┴─┬───┴────┬─────────┴┬─────────┴┬──────┴──────┴──┬─────────┴─────────┐  and of what priority its least are
 * │priority 4  │tenant 4│since ms 8│work ms 8 │last let go ms 8│lowest priority 4│ proposed, settled 2 + 2
 * └────────────┴────────┴──────────┴──────────┴────────────────┴─────────────────┴─┘
 * ┌───┬───┬─────┬──────┬───┬──────┬─────────┬────────┬───────┐
 * │q 2│d 2│gen 1│last 1│s 2│work 4│context 4│newest 8│clock 8│ …
 * └───┴───┴─────┴──────┴───┴──────┴─────────┴────────┴───────┘
 *
 * journal segment     16-byte head, then up to 64 changes                          one value a segment, 256 a worker
 * ┌──────────┬───────┬──────────┐ ┌───────┬───────────────────────┬─────────────┬──────┬───────┐
 * │version 4 │count 4│ number 8 │ │ tag 8 │stamp 4 (16-token ticks)│slot, kind 2 │gen 1 │forks 1│ …
 * └──────────┴───────┴──────────┘ └───────┴───────────────────────┴─────────────┴──────┴───────┘
 *
 * bucket              8-byte head, then 31 entries                                 one value a bucket of answers' ids;
 *                                                                                  of locations each worker has its own
 * ┌──────────┬─────┐ ┌───────┬───────────────────────┬───────┬──────┬───────┐
 * │version 4 │  4  │ │ tag 8 │stamp 4 (16-token ticks)│slot 2 │gen 1 │forks 1│ …
 * └──────────┴─────┘ └───────┴───────────────────────┴───────┴──────┴───────┘
 * ```
 * The host record (reports, health, learned speed) is drawn in hostrecord.ts.
 */

/** Raised whenever any layout here changes. */
export const LAYOUT_VERSION: u32 = 8;

/** Most hosts that one namespace can know; a slot number fits u16. */
export const MAX_HOSTS: i32 = 512;
/** Most worker threads that may have rows; further workers decide without publishing what they have in flight. */
export const MAX_WORKERS: i32 = 64;

/** Most other gateways that are heard at once. */
export const MAX_PEERS: i32 = 64;

export const DIRECTORY_HEAD: i32 = 16;
export const DIRECTORY_RECORD: i32 = 64;
export const ADDRESS_BYTES: i32 = 48;

export const ROW_HEAD: i32 = 88;
export const ROW_RECORD: i32 = 32;

export const BUCKET_HEAD: i32 = 8;
export const BUCKET_ENTRY: i32 = 16;
export const BUCKET_ENTRIES: i32 = 31;
export const BUCKET_BYTES: i32 = BUCKET_HEAD + BUCKET_ENTRY * BUCKET_ENTRIES;

/** Changes in a segment of a worker's journal, and segments that stay: who falls further behind than they reach misses changes. */
export const SEGMENT_CHANGES: i32 = 64;
export const SEGMENTS: i32 = 256;
export const SEGMENT_HEAD: i32 = 16;

/** Tokens per tick of a location stamp: a 32-bit stamp then lasts 68 billion tokens. */
export const STAMP_TOKENS: f64 = 16;

/** Attempts of a compare-and-set before a writer gives up, counts it, and keeps only its local copy. */
export const CAS_ATTEMPTS: i32 = 8;
