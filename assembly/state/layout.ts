/**
 * Byte layouts of what all workers share. Every value starts with LAYOUT_VERSION, which keys hold too (keys.ts); a value of four
 * zero bytes was made sure of (record.ts) and not yet written.
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
 * │priority 4  │tenant 4│since ms 8│work ms 8 │last let go ms 8│lowest priority 2│ which 2, proposed, settled 2 + 2
 * └────────────┴────────┴──────────┴──────────┴────────────────┴─────────────────┴─┘
 * ┌───┬───┬─────┬──────┬───┬──────┬─────────┬────────┬───────┐
 * │q 2│d 2│gen 1│last 1│s 2│work 4│context 4│newest 8│clock 8│ …
 * └───┴───┴─────┴──────┴───┴──────┴─────────┴────────┴───────┘
 *
 * journal segment     16-byte head, then up to 64 changes                          one value a segment, 256 a worker
 * ┌──────────┬───────┬──────────┐ ┌───────┬───────────────────────┬─────────────┬──────┬───────┐
 * │version 4 │count 4│ number 8 │ │ tag 8 │stamp 4 (16-token ticks)│slot, kind 2 │gen 1 │forks 1│ …
 * └──────────┴───────┴──────────┘ └───────┴───────────────────────┴─────────────┴──────┴───────┘
 * ```
 * Boxes are read and written by loadbox.ts, entries of segments by entry.ts. What isn't here is drawn where it is read: the host
 * record in hostrecord.ts, other gateways in peers.ts, learned.ts, outbox.ts, members.ts, responses.ts, tenants.ts, lease.ts.
 */

/** Raised whenever any layout here changes. */
export const LAYOUT_VERSION: u32 = 11;

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

/** Changes in a segment of a worker's journal, and segments that stay: who falls further behind than they reach misses changes. */
export const SEGMENT_CHANGES: i32 = 64;
export const SEGMENTS: i32 = 256;
export const SEGMENT_HEAD: i32 = 16;

/** Tokens per tick of a location stamp: a 32-bit stamp then lasts 68 billion tokens. */
export const STAMP_TOKENS: f64 = 16;

/** Attempts of a compare-and-set before a writer gives up, counts it, and keeps only its local copy. */
export const CAS_ATTEMPTS: i32 = 8;
