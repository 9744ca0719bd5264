/**
 * One bucket of the location table, eight cache lines: the first tells by a byte of each tag where to look, so that most
 * look-ups touch no other.
 *
 * ```
 * ┌───────────────────┬───┐ ┌───────┬───────────────────────┬───────┬────────────┬───────┐
 * │mark of each entry │ 2 │ │ tag 8 │stamp 4 (16-token ticks)│slot 2 │generation 1│forks 1│ … 30 entries
 * └───────────────────┴───┘ └───────┴───────────────────────┴───────┴────────────┴───────┘
 * ```
 */
import { ENTRY_BYTES, Entry } from "./entry";

export const ENTRIES: i32 = 30;
export const BUCKET_STRIDE: usize = 512;
const MARKS: usize = 32;
const ALL: u32 = (1 << ENTRIES) - 1;

/** A tag's mark; 0 is that of a free entry. */
@inline
function markOf(tag: u64): u8 {
  return <u8>max<u32>(<u32>(tag >>> 40) & 0xff, 1);
}

@inline
function marked(bucket: usize, mark: u8): u32 {
  const wanted = i8x16.splat(<i8>mark);
  const low = i8x16.bitmask(i8x16.eq(v128.load(bucket), wanted));
  const high = i8x16.bitmask(i8x16.eq(v128.load(bucket, 16), wanted));
  return (<u32>low | ((<u32>high) << 16)) & ALL;
}

/** Address of entry `e`, 0 ≤ e < ENTRIES. */
@inline
export function entryAt(bucket: usize, e: i32): usize {
  return bucket + MARKS + <usize>(e * ENTRY_BYTES);
}

/** Bits of the entries that may have the tag: to be compared with it. */
@inline
export function candidates(bucket: usize, tag: u64): u32 {
  return marked(bucket, markOf(tag));
}

/** Number of the tag's entry for a slot, −1 for none. */
export function find(bucket: usize, tag: u64, slot: i32): i32 {
  for (let left = candidates(bucket, tag); left != 0; left &= left - 1) {
    const e = ctz(left);
    const entry = entryAt(bucket, e);
    if (Entry.tag(entry) == tag && Entry.slot(entry) == slot) return e;
  }
  return -1;
}

/** Number of a free entry, −1 for none. */
export function findFree(bucket: usize): i32 {
  const free = marked(bucket, 0);
  return free == 0 ? -1 : ctz(free);
}

/** Whether no other entry than `e` has the tag. */
export function isAlone(bucket: usize, tag: u64, e: i32): bool {
  for (let left = candidates(bucket, tag); left != 0; left &= left - 1) {
    const other = ctz(left);
    if (other != e && Entry.tag(entryAt(bucket, other)) == tag) return false;
  }
  return true;
}

/** Writes entry `e`. */
export function writeEntry(
  bucket: usize,
  e: i32,
  tag: u64,
  stamp: u32,
  slot: i32,
  generation: u8,
  forks: i32,
): void {
  store<u8>(bucket + e, markOf(tag));
  Entry.write(entryAt(bucket, e), tag, stamp, slot, generation, forks);
}

/** Frees an entry. */
export function freeEntry(bucket: usize, e: i32): void {
  store<u8>(bucket + e, 0);
  store<u64>(entryAt(bucket, e), 0);
}

/** Frees every entry with this tag. */
export function freeAll(bucket: usize, tag: u64): void {
  for (let left = candidates(bucket, tag); left != 0; left &= left - 1) {
    const e = ctz(left);
    if (Entry.tag(entryAt(bucket, e)) == tag) freeEntry(bucket, e);
  }
}
