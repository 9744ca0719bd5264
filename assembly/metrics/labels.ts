import { Text, equalsText } from "../bytes";

/** Labels that one sample may carry; vLLM's `cache_config_info` has about 30. */
const MAX_LABELS: i32 = 128;

/** Room for names and values that can't be read in place (escapes, JSON), in bytes per sample. */
const LABEL_BYTES: i32 = 16384;

/**
 * The labels of one sample, reused for every sample. Names and values point into the input or into
 * the scratch bytes, and are valid until the next sample.
 */
export class LabelSet {
  /** Labels held, 0..MAX_LABELS. */
  count: i32 = 0;
  /** Something did not fit: the sample must not be used. */
  overflow: bool = false;
  private namePtrs: StaticArray<usize> = new StaticArray<usize>(MAX_LABELS);
  private nameLens: StaticArray<i32> = new StaticArray<i32>(MAX_LABELS);
  private valuePtrs: StaticArray<usize> = new StaticArray<usize>(MAX_LABELS);
  private valueLens: StaticArray<i32> = new StaticArray<i32>(MAX_LABELS);
  private scratch: StaticArray<u8> = new StaticArray<u8>(LABEL_BYTES);
  private used: i32 = 0;

  reset(): void {
    this.count = 0;
    this.used = 0;
    this.overflow = false;
  }

  /** Adds a label; an empty value is the same as no label. */
  add(namePtr: usize, nameLen: i32, valuePtr: usize, valueLen: i32): void {
    if (valueLen == 0) return;
    const at = this.count;
    if (at >= MAX_LABELS) {
      this.overflow = true;
      return;
    }
    unchecked((this.namePtrs[at] = namePtr));
    unchecked((this.nameLens[at] = nameLen));
    unchecked((this.valuePtrs[at] = valuePtr));
    unchecked((this.valueLens[at] = valueLen));
    this.count = at + 1;
  }

  /** Where the next scratch byte goes. */
  @inline
  get top(): usize {
    return changetype<usize>(this.scratch) + <usize>this.used;
  }

  /** Appends bytes to the scratch room; false (and `overflow`) if they don't fit. */
  append(ptr: usize, len: i32): bool {
    if (len > LABEL_BYTES - this.used) {
      this.overflow = true;
      return false;
    }
    memory.copy(this.top, ptr, len);
    this.used += len;
    return true;
  }

  /** Index of a label, -1 if there is none. */
  find(name: Text): i32 {
    for (let i = 0; i < this.count; i++) {
      if (equalsText(unchecked(this.namePtrs[i]), unchecked(this.nameLens[i]), name)) return i;
    }
    return -1;
  }

  @inline
  namePtr(i: i32): usize {
    return unchecked(this.namePtrs[i]);
  }

  @inline
  nameLen(i: i32): i32 {
    return unchecked(this.nameLens[i]);
  }

  @inline
  valuePtr(i: i32): usize {
    return unchecked(this.valuePtrs[i]);
  }

  @inline
  valueLen(i: i32): i32 {
    return unchecked(this.valueLens[i]);
  }

  /** Whether the label is there with just this value. */
  has(name: Text, value: Text): bool {
    const i = this.find(name);
    return i >= 0 && equalsText(this.valuePtr(i), this.valueLen(i), value);
  }
}
