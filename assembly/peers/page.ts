/** A location, in a page of a table. */
@unmanaged
export class PageEntry {
  static write(at: usize, tag: u64, host: i32, forks: i32, ageTicks: u32): void {
    store<u64>(at, tag);
    store<u16>(at + 8, <u16>host);
    store<u8>(at + 10, <u8>forks);
    store<u8>(at + 11, 0);
    store<u32>(at + 12, ageTicks);
  }
  @inline
  static tag(at: usize): u64 {
    return load<u64>(at);
  }
  /** Position of its host among the page's hosts. */
  @inline
  static host(at: usize): i32 {
    return <i32>load<u16>(at + 8);
  }
  @inline
  static forks(at: usize): i32 {
    return <i32>load<u8>(at + 10);
  }
  @inline
  static ageTicks(at: usize): u32 {
    return load<u32>(at + 12);
  }
}
