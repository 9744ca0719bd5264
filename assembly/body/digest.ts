/**
 * Hash and size of any JSON value, whatever the order of its keys, its white space and its spelling
 * of characters (numbers count as spelled). Members of an object are added up, so a key given twice
 * counts twice. Below MAX_LEVELS levels the order of array items isn't seen any more.
 *
 * The size is that of the value written compactly, with no more escapes than JSON needs; a string under `image_url` is an
 * image and has none.
 */
import { text } from "../bytes";
import { skipPlain } from "../json/skip";
import { hashBytes, Hasher, mix } from "../prefix/hash";

const MAX_LEVELS: i32 = 64;

const OBJECT_SALT: u64 = 0x0b1e_c700_0000_0001;
const ARRAY_SALT: u64 = 0xa22a_7000_0000_0002;
const NUMBER_SALT: u64 = 0x9a3b_e200_0000_0003;
const TRUE_HASH: u64 = 0x72e0_0000_0000_0004;
const FALSE_HASH: u64 = 0xfa15_e000_0000_0005;
const NULL_HASH: u64 = 0x9011_0000_0000_0006;
const IMAGE_URL: u64 = hashBytes(text("image_url").ptr, text("image_url").len);

@final
export class ValueDigest {
  /** Hash of the value, once it is complete. */
  hash: u64 = 0;
  /** Code points and UTF-8 bytes of its compact form. */
  codePoints: u32 = 0;
  bytes: u32 = 0;
  images: u32 = 0;
  /** Members of the outermost array or object. */
  count: u32 = 0;
  /** Arrays and objects open; 0 between values. */
  depth: i32 = 0;

  private sums: StaticArray<u64> = new StaticArray<u64>(MAX_LEVELS);
  private keys: StaticArray<u64> = new StaticArray<u64>(MAX_LEVELS);
  private objects: StaticArray<bool> = new StaticArray<bool>(MAX_LEVELS);
  private isFirst: bool = true;
  private isImage: bool = false;
  private hasher: Hasher = new Hasher();

  reset(): void {
    this.hash = 0;
    this.codePoints = 0;
    this.bytes = 0;
    this.images = 0;
    this.count = 0;
    this.depth = 0;
    this.isFirst = true;
  }

  /** Hash of what was read of a value that was cut off: its outermost members. */
  get partialHash(): u64 {
    return this.depth == 0 ? this.hash : mix(unchecked(this.sums[0]), ARRAY_SALT);
  }

  open(isObject: bool): void {
    this.beginValue();
    this.grow(2, 0);
    const depth = this.depth++;
    if (depth < MAX_LEVELS) {
      unchecked((this.sums[depth] = 0));
      unchecked((this.objects[depth] = isObject));
      unchecked((this.keys[depth] = 0));
    }
    this.isFirst = true;
  }

  close(): void {
    if (this.depth == 0) return;
    const depth = --this.depth;
    this.isFirst = false;
    if (depth >= MAX_LEVELS) return;
    const salt = unchecked(this.objects[depth]) ? OBJECT_SALT : ARRAY_SALT;
    this.add(mix(unchecked(this.sums[depth]), salt));
  }

  /** `isPlain`: no character needs an escape. */
  key(ptr: usize, len: i32, isPlain: bool): void {
    this.separate();
    this.isFirst = true;
    this.measure(ptr, len, tailsOf(ptr, len), isPlain);
    this.grow(3, 0);
    if (this.depth == 0) return;
    unchecked((this.keys[min(this.depth, MAX_LEVELS) - 1] = hashBytes(ptr, len)));
    if (this.depth == 1) this.count++;
  }

  beginText(): void {
    this.beginValue();
    this.grow(2, 0);
    this.isImage = this.atImage;
    if (this.isImage) this.images++;
    this.hasher.reset(0);
  }

  text(ptr: usize, len: i32, tails: i32, isPlain: bool): void {
    this.hasher.update(ptr, len);
    if (!this.isImage) this.measure(ptr, len, tails, isPlain);
  }

  /** A whole plain ASCII string. */
  plainText(ptr: usize, len: i32): void {
    this.beginValue();
    const isImage = this.atImage;
    if (isImage) this.images++;
    this.grow(isImage ? 2 : len + 2, 0);
    this.add(hashBytes(ptr, len));
  }

  endText(): void {
    this.add(this.hasher.digest());
  }

  number(ptr: usize, len: i32): void {
    this.beginValue();
    this.grow(len, 0);
    this.hasher.reset(NUMBER_SALT);
    this.hasher.update(ptr, len);
    this.add(this.hasher.digest());
  }

  bool(value: bool): void {
    this.beginValue();
    this.grow(value ? 4 : 5, 0);
    this.add(value ? TRUE_HASH : FALSE_HASH);
  }

  nil(): void {
    this.beginValue();
    this.grow(4, 0);
    this.add(NULL_HASH);
  }

  /** Whether a string here is an image. */
  private get atImage(): bool {
    const depth = this.depth;
    return depth > 0 && depth <= MAX_LEVELS && unchecked(this.keys[depth - 1]) == IMAGE_URL;
  }

  /** A value begins: in an array it may need a comma. */
  private beginValue(): void {
    const depth = this.depth;
    if (depth == 0) return;
    this.separate();
    if (depth == 1 && !unchecked(this.objects[0])) this.count++;
  }

  private separate(): void {
    if (!this.isFirst) this.grow(1, 0);
    this.isFirst = false;
  }

  /** Adds a member's hash to the array or object around it. */
  private add(value: u64): void {
    const depth = this.depth;
    if (depth == 0) {
      this.hash = value;
      return;
    }
    const level = min(depth, MAX_LEVELS) - 1;
    const sum = unchecked(this.sums[level]);
    const isSum = unchecked(this.objects[level]) || depth > MAX_LEVELS;
    unchecked(
      (this.sums[level] = isSum ? sum + mix(unchecked(this.keys[level]), value) : mix(sum, value)),
    );
  }

  @inline
  private grow(bytes: i32, tails: i32): void {
    this.bytes += bytes;
    this.codePoints += bytes - tails;
  }

  /** Size of decoded text in a JSON string. */
  private measure(ptr: usize, len: i32, tails: i32, isPlain: bool): void {
    this.grow(len, tails);
    if (isPlain) return;
    const end = ptr + len;
    let p = skipPlain(ptr, end);
    while (p < end) {
      const c = <u32>load<u8>(p++);
      if (c < 0x80) this.grow(escapeLength(c), 0);
      p = skipPlain(p, end);
    }
  }
}

/** What an escape adds to the length of a character that needs one. */
function escapeLength(c: u32): i32 {
  const isShort =
    c == 0x22 || c == 0x5c || c == 0x08 || c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d;
  return isShort ? 1 : 5;
}

/** Bytes that continue a character. */
function tailsOf(ptr: usize, len: i32): i32 {
  let tails: i32 = 0;
  let i: i32 = 0;
  for (; i + 8 <= len; i += 8) {
    // High bit set, the next one not.
    const x = load<u64>(ptr + i);
    tails += <i32>popcnt(x & ~(x << 1) & 0x8080808080808080);
  }
  for (; i < len; i++) if ((load<u8>(ptr + i) & 0xc0) == 0x80) tails++;
  return tails;
}
