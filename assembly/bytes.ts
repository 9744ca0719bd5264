/**
 * Byte strings: what every room needs to compare, read and write UTF-8 text at an address without
 * allocating. Nothing here knows the host.
 */
import { dtoa_buffered } from "util/number";

/** A constant UTF-8 text: address and length in bytes. Made once, by `text()`. */
export class Text {
  /** Keeps the bytes alive. */
  private bytes: ArrayBuffer;
  /** Address of the first byte. */
  ptr: usize;
  /** Length in bytes. */
  len: i32;

  constructor(bytes: ArrayBuffer) {
    this.bytes = bytes;
    this.ptr = changetype<usize>(bytes);
    this.len = bytes.byteLength;
  }

  /** As a string. Allocates: for messages. */
  toString(): string {
    return String.UTF8.decodeUnsafe(this.ptr, this.len);
  }
}

/** The UTF-8 form of `s`. Allocates: for constants and configuration only. */
export function text(s: string): Text {
  return new Text(String.UTF8.encode(s));
}

/** Whether two byte strings are equal. */
export function equalBytes(a: usize, alen: i32, b: usize, blen: i32): bool {
  if (alen != blen || alen < 0) return false;
  let i: i32 = 0;
  for (; i + 8 <= alen; i += 8) {
    if (load<u64>(a + i) != load<u64>(b + i)) return false;
  }
  for (; i < alen; i++) {
    if (load<u8>(a + i) != load<u8>(b + i)) return false;
  }
  return true;
}

/** Whether the bytes at `ptr` are exactly `t`. */
export function equalsText(ptr: usize, len: i32, t: Text): bool {
  return equalBytes(ptr, len, t.ptr, t.len);
}

/** Whether the bytes at `ptr` are exactly one of the texts. @typeParam L an array of them, of either kind */
export function equalsOneOf<L>(ptr: usize, len: i32, texts: L): bool {
  for (let i = 0; i < texts.length; i++) {
    if (equalsText(ptr, len, unchecked(texts[i]))) return true;
  }
  return false;
}

/** Whether the bytes at `ptr`, with ASCII letters lowered, are exactly `lower` (given in lower case). */
export function lowerEquals(ptr: usize, len: i32, lower: Text): bool {
  if (len != lower.len) return false;
  for (let i: i32 = 0; i < len; i++) {
    let c = load<u8>(ptr + i);
    if (c >= 0x41 && c <= 0x5a) c |= 0x20;
    if (c != load<u8>(lower.ptr + i)) return false;
  }
  return true;
}

/** Copies `len` bytes; cheaper than `memory.copy` for a few. */
export function copyShort(to: usize, from: usize, len: i32): void {
  let i: i32 = 0;
  for (; i + 16 <= len; i += 16) v128.store(to + i, v128.load(from + i));
  if (len & 8) {
    store<u64>(to + i, load<u64>(from + i));
    i += 8;
  }
  if (len & 4) {
    store<u32>(to + i, load<u32>(from + i));
    i += 4;
  }
  if (len & 2) {
    store<u16>(to + i, load<u16>(from + i));
    i += 2;
  }
  if (len & 1) store<u8>(to + i, load<u8>(from + i));
}

/** The value of 1 to 18 ASCII digits (no sign, no blanks), or −1 where it is anything else. */
export function parseDecimal(ptr: usize, len: i32): i64 {
  if (len < 1 || len > 18) return -1;
  if (len <= 8) return parseShort(ptr, len);
  let value: i64 = 0;
  for (let i: i32 = 0; i < len; i++) {
    const digit = <u32>load<u8>(ptr + i) - 0x30;
    if (digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** 1 to 8 digits at once. Reads the 8 bytes that end with them; those in front are blanked. */
function parseShort(ptr: usize, len: i32): i64 {
  const unused = (<u64>(8 - len)) << 3;
  let x = ((load<u64>(ptr + len - 8) ^ 0x3030303030303030) >> unused) << unused;
  if (((x | (x + 0x0606060606060606)) & 0xf0f0f0f0f0f0f0f0) != 0) return -1;
  // Pairs of digits, then fours, then all eight; the first digit is in the lowest byte.
  x = (x * 10 + (x >> 8)) & 0x00ff00ff00ff00ff;
  x = (x * 100 + (x >> 16)) & 0x0000ffff0000ffff;
  return <i64>((x * 10000 + (x >> 32)) & 0xffffffff);
}

/** Writes `value` in decimal at `ptr` (at most 20 bytes) and returns the number of bytes. */
export function writeU64(ptr: usize, value: u64): i32 {
  let len: i32 = 1;
  for (let rest = value / 10; rest != 0; rest /= 10) len++;
  let at = ptr + len;
  let rest = value;
  do {
    at--;
    store<u8>(at, <u8>(0x30 + (rest % 10)));
    rest /= 10;
  } while (at > ptr);
  return len;
}

/** Writes `value` in decimal at `ptr` (at most 20 bytes) and returns the number of bytes. */
export function writeI64(ptr: usize, value: i64): i32 {
  if (value >= 0) return writeU64(ptr, <u64>value);
  store<u8>(ptr, 0x2d);
  return 1 + writeU64(ptr + 1, 0 - <u64>value);
}

/** UTF-16 of one number while it is narrowed. */
const wide = memory.data(64);

/**
 * Writes `value` in its shortest decimal form at `ptr` (at most 28 bytes; whole numbers without a
 * fraction, `NaN`, `Infinity`) and returns the number of bytes.
 */
export function writeF64(ptr: usize, value: f64): i32 {
  if (!(abs(value) <= f64.MAX_VALUE)) {
    if (isNaN(value)) return writeAscii(ptr, "NaN");
    return writeAscii(ptr, value < 0 ? "-Infinity" : "Infinity");
  }
  if (abs(value) < 9007199254740992 && floor(value) == value) return writeI64(ptr, <i64>value);
  let len = <i32>dtoa_buffered(wide, value);
  for (let i: i32 = 0; i < len; i++) store<u8>(ptr + i, <u8>load<u16>(wide + ((<usize>i) << 1)));
  if (len > 2 && load<u16>(ptr + len - 2) == 0x302e) len -= 2;
  return len;
}

function writeAscii(ptr: usize, s: string): i32 {
  const len = s.length;
  for (let i: i32 = 0; i < len; i++) store<u8>(ptr + i, <u8>s.charCodeAt(i));
  return len;
}

/** Writes `value` as 16 lower-case hex digits at `ptr` and returns 16. */
export function writeHex16(ptr: usize, value: u64): i32 {
  for (let i: i32 = 0; i < 16; i++) {
    const digit = <u32>(value >> <u64>(60 - 4 * i)) & 15;
    store<u8>(ptr + i, <u8>(digit < 10 ? 0x30 + digit : 0x57 + digit));
  }
  return 16;
}
