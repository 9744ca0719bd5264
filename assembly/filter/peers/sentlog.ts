const BYTES: i32 = 128 * 1024;

/** The last messages that this worker sent, to send one again: a ring of bytes, in which the oldest are written over. */
export class SentLog {
  private ring: StaticArray<u8> = new StaticArray<u8>(BYTES);
  /** Bytes ever written, gaps at the ring's end included. */
  private end: i64 = 0;

  /** Keeps a message of at most a quarter of the ring; returns where, −1 for one that is too long. */
  keep(ptr: usize, len: i32): i64 {
    if (len > BYTES / 4) return -1;
    const at = <i32>(this.end % BYTES);
    if (at + len > BYTES) this.end += BYTES - at;
    const start = this.end;
    memory.copy(this.address(start), ptr, len);
    this.end += len;
    return start;
  }

  /** Address of a message that was kept, 0 if it was written over since. */
  find(start: i64): usize {
    if (start < 0 || this.end - start > BYTES) return 0;
    return this.address(start);
  }

  private address(start: i64): usize {
    return changetype<usize>(this.ring) + <usize>(start % BYTES);
  }
}
