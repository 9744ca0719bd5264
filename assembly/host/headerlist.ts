import { Text } from "../bytes";

/**
 * Headers to send: serialised in place, in one buffer that is reused. What doesn't fit is refused.
 *
 * Lengths and bytes grow apart, for the count isn't known before the end; `seal` moves the
 * lengths to just before the bytes, which gives the form that `readPairs` draws.
 */
export class HeaderList {
  /** Address and size of the serialised form, after `seal`. */
  ptr: usize = 0;
  size: i32 = 0;

  private lengths: usize;
  private data: usize;
  private used: i32 = 0;
  private count: i32 = 0;

  /** @param maxPairs, @param maxBytes of names and values, each with one more for its end */
  constructor(
    private maxPairs: i32 = 32,
    private maxBytes: i32 = 4096,
  ) {
    this.lengths = heap.alloc((<usize>maxPairs) << 3);
    // In front of the data: room for the sealed count and lengths.
    this.data = heap.alloc(4 + ((<usize>maxPairs) << 3) + <usize>maxBytes) + 4;
    this.data += (<usize>maxPairs) << 3;
  }

  /** Empties the list. */
  reset(): void {
    this.used = 0;
    this.count = 0;
  }

  /** Adds one header. False: no room, the list is as before. */
  add(name: Text, valuePtr: usize, valueLen: i32): bool {
    let used = this.used;
    if (valueLen < 0 || this.count >= this.maxPairs) return false;
    if (<i64>used + name.len + valueLen + 2 > <i64>this.maxBytes) return false;
    let at = this.data + <usize>used;
    memory.copy(at, name.ptr, name.len);
    store<u8>(at + <usize>name.len, 0);
    memory.copy(at + <usize>name.len + 1, valuePtr, valueLen);
    store<u8>(at + <usize>name.len + 1 + <usize>valueLen, 0);
    let lengths = this.lengths + ((<usize>this.count) << 3);
    store<u32>(lengths, name.len);
    store<u32>(lengths, valueLen, 4);
    this.used = used + name.len + valueLen + 2;
    this.count++;
    return true;
  }

  /** Adds one header with a constant value. */
  addText(name: Text, value: Text): bool {
    return this.add(name, value.ptr, value.len);
  }

  /** Makes `ptr` and `size` what a host function takes. */
  seal(): void {
    let lengthsBytes = (<usize>this.count) << 3;
    this.ptr = this.data - lengthsBytes - 4;
    store<u32>(this.ptr, this.count);
    memory.copy(this.ptr + 4, this.lengths, lengthsBytes);
    this.size = 4 + <i32>lengthsBytes + this.used;
  }
}
