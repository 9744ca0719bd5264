import { copyShort } from "../bytes";

/** Longest key that comes whole, in bytes. */
export const MAX_KEY_BYTES: i32 = 256;

/** A key put together from pieces. */
@final
export class KeyBuffer {
  len: i32 = 0;
  /** Whether there was more than fits. */
  cut: bool = false;
  private bytes: StaticArray<u8> = new StaticArray<u8>(MAX_KEY_BYTES);

  get ptr(): usize {
    return changetype<usize>(this.bytes);
  }

  clear(): void {
    this.len = 0;
    this.cut = false;
  }

  append(ptr: usize, len: i32): void {
    const room = min(len, MAX_KEY_BYTES - this.len);
    if (room < len) this.cut = true;
    copyShort(this.ptr + this.len, ptr, room);
    this.len += room;
  }
}
