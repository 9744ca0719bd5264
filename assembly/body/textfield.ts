import { Hasher } from "../prefix/hash";

/** Longest text that is kept whole, in bytes. */
export const MAX_KEPT: i32 = 1024;

/** The string of one field: its hash, and its start. */
@final
export class TextField {
  /** Bytes so far. */
  bytes: u32 = 0;
  /** Those of them that are kept. */
  keptLen: i32 = 0;
  private kept: StaticArray<u8> = new StaticArray<u8>(MAX_KEPT);
  private hasher: Hasher = new Hasher();

  begin(): void {
    this.bytes = 0;
    this.keptLen = 0;
    this.hasher.reset(0);
  }

  add(ptr: usize, len: i32): void {
    this.hasher.update(ptr, len);
    this.bytes += len;
    const room = min(len, MAX_KEPT - this.keptLen);
    memory.copy(this.ptr + this.keptLen, ptr, room);
    this.keptLen += room;
  }

  get ptr(): usize {
    return changetype<usize>(this.kept);
  }

  get hash(): u64 {
    return this.hasher.digest();
  }

  /** Whether there are only blanks in what is kept. */
  get isBlank(): bool {
    for (let i = 0; i < this.keptLen; i++) if (load<u8>(this.ptr + i) > 0x20) return false;
    return true;
  }

  get isWhole(): bool {
    return this.bytes <= <u32>MAX_KEPT;
  }
}
