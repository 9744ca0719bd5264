/** Deepest nesting that is read, in arrays and objects around a value. */
export const MAX_DEPTH: i32 = 16384;

/** Which of the arrays and objects open are objects: a stack of bits. */
@final
export class Levels {
  /** Arrays and objects open. */
  depth: i32 = 0;
  /** Whether the innermost is an object. */
  inObject: bool = false;
  private bits: StaticArray<u32> = new StaticArray<u32>(MAX_DEPTH >> 5);

  reset(): void {
    this.depth = 0;
    this.inObject = false;
  }

  /** Opens one; false where there is no room. */
  push(isObject: bool): bool {
    const depth = this.depth;
    if (depth >= MAX_DEPTH) return false;
    const word = depth >> 5;
    const bit = (<u32>1) << (depth & 31);
    const before = unchecked(this.bits[word]);
    unchecked((this.bits[word] = isObject ? before | bit : before & ~bit));
    this.depth = depth + 1;
    this.inObject = isObject;
    return true;
  }

  /** Closes the innermost; there must be one. */
  pop(): void {
    const depth = --this.depth;
    const outer = depth - 1;
    this.inObject = depth > 0 && ((unchecked(this.bits[outer >> 5]) >> (outer & 31)) & 1) != 0;
  }
}
