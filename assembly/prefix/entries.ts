/** A bounded list of boundaries, before the seed is known. */
@final
export class Entries {
  count: i32 = 0;
  readonly capacity: i32;
  readonly hashes: StaticArray<u64>;
  /** Prompt bytes up to the boundary. */
  readonly bytes: StaticArray<u32>;
  /** Token ids up to it. */
  readonly tokens: StaticArray<u32>;
  /** Images and sounds up to it. */
  readonly media: StaticArray<u32>;
  /** Which boundary of the prompt it is, counted through. */
  readonly order: StaticArray<u32>;

  constructor(capacity: i32) {
    this.capacity = capacity;
    this.hashes = new StaticArray<u64>(capacity);
    this.bytes = new StaticArray<u32>(capacity);
    this.tokens = new StaticArray<u32>(capacity);
    this.media = new StaticArray<u32>(capacity);
    this.order = new StaticArray<u32>(capacity);
  }

  /** Adds one; a full list stays as it is. */
  push(hash: u64, bytes: u32, tokens: u32, media: u32, order: u32): void {
    const i = this.count;
    if (i >= this.capacity) return;
    this.set(i, hash, bytes, tokens, media, order);
    this.count = i + 1;
  }

  /** Writes the one at `i`, which must be below the capacity. */
  set(i: i32, hash: u64, bytes: u32, tokens: u32, media: u32, order: u32): void {
    if (<u32>i >= <u32>this.capacity) return;
    unchecked((this.hashes[i] = hash));
    unchecked((this.bytes[i] = bytes));
    unchecked((this.tokens[i] = tokens));
    unchecked((this.media[i] = media));
    unchecked((this.order[i] = order));
  }
}
