export const ENTRY_BYTES: i32 = 16;

/**
 * One location: which host has what a tag stands for. In buckets of the location table (locationbucket.ts), and as a change in
 * workers' journals (journal.ts), wherever its 16 bytes are:
 *
 * ```
 * │tag 8│stamp 4 (16-token ticks)│slot 2│generation 1│forks 1│
 * ```
 */
@unmanaged
export class Entry {
  @inline
  static tag(entry: usize): u64 {
    return load<u64>(entry);
  }
  @inline
  static stamp(entry: usize): u32 {
    return load<u32>(entry + 8);
  }
  @inline
  static slot(entry: usize): i32 {
    return <i32>load<u16>(entry + 12);
  }
  @inline
  static generation(entry: usize): u8 {
    return load<u8>(entry + 14);
  }
  /** Conversations that left this prefix by a way of their own, up to 255. */
  @inline
  static forks(entry: usize): i32 {
    return <i32>load<u8>(entry + 15);
  }

  /** Writes a whole entry; `forks` is cut at 255. */
  static write(entry: usize, tag: u64, stamp: u32, slot: i32, generation: u8, forks: i32): void {
    store<u64>(entry, tag);
    store<u32>(entry + 8, stamp);
    store<u16>(entry + 12, <u16>slot);
    store<u8>(entry + 14, generation);
    store<u8>(entry + 15, <u8>min(forks, 255));
  }
}
