/**
 * UTF-8 as the Encoding Standard decodes it: which bytes form a character, and which are replaced,
 * maximal piece by maximal piece, by U+FFFD.
 */

/** U+FFFD in UTF-8, as stored little-endian. */
export const REPLACEMENT: u32 = 0xbdbfef;
/** Its length in bytes. */
export const REPLACEMENT_LEN: i32 = 3;

/**
 * How many bytes a sequence that starts with `lead` has: 2..4, or 0 where no sequence starts with it
 * (a continuation byte, 0xC0, 0xC1, 0xF5 and above). Only for bytes from 0x80.
 */
@inline
function sequenceLength(lead: u32): i32 {
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/** Lowest second byte after `lead` (no overlong forms). */
@inline
function secondLow(lead: u32): u32 {
  return lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
}

/** Highest second byte after `lead` (no surrogates, nothing above U+10FFFF). */
@inline
function secondHigh(lead: u32): u32 {
  return lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
}

/**
 * Looks at the bytes from `p`, the first of which is 0x80 or more. Gives the length of a valid
 * sequence (2..4), minus the length of a piece to be replaced (−1..−3), or 0 where `end` comes
 * before that is known.
 */
export function checkSequence(p: usize, end: usize): i32 {
  const lead = <u32>load<u8>(p);
  const len = sequenceLength(lead);
  if (len == 0) return -1;
  if (p + 1 >= end) return 0;
  const second = <u32>load<u8>(p + 1);
  if (second < secondLow(lead) || second > secondHigh(lead)) return -1;
  for (let i = 2; i < len; i++) {
    if (p + i >= end) return 0;
    if ((load<u8>(p + i) & 0xc0) != 0x80) return -i;
  }
  return len;
}

/** Writes `code` (a scalar value) as UTF-8 at `at` and returns the number of bytes, 1..4. */
export function writeCodePoint(at: usize, code: u32): i32 {
  if (code < 0x80) {
    store<u8>(at, <u8>code);
    return 1;
  }
  if (code < 0x800) {
    store<u8>(at, <u8>(0xc0 | (code >> 6)));
    store<u8>(at + 1, <u8>(0x80 | (code & 0x3f)));
    return 2;
  }
  if (code < 0x10000) {
    store<u8>(at, <u8>(0xe0 | (code >> 12)));
    store<u8>(at + 1, <u8>(0x80 | ((code >> 6) & 0x3f)));
    store<u8>(at + 2, <u8>(0x80 | (code & 0x3f)));
    return 3;
  }
  store<u8>(at, <u8>(0xf0 | (code >> 18)));
  store<u8>(at + 1, <u8>(0x80 | ((code >> 12) & 0x3f)));
  store<u8>(at + 2, <u8>(0x80 | ((code >> 6) & 0x3f)));
  store<u8>(at + 3, <u8>(0x80 | (code & 0x3f)));
  return 4;
}

/** The bytes of a sequence that a chunk's end has cut. */
@final
export class Sequence {
  /** Little-endian. */
  bytes: u32 = 0;
  /** Number of them, 0 for none. */
  len: i32 = 0;

  /** Starts with the 1 to 3 bytes at `p`, a valid beginning. */
  begin(p: usize, len: i32): void {
    let bytes: u32 = 0;
    for (let i: i32 = 0; i < len; i++) bytes |= (<u32>load<u8>(p + i)) << (i << 3);
    this.bytes = bytes;
    this.len = len;
  }

  /** Adds the next byte; false where it can't follow. */
  add(c: u32): bool {
    const lead = this.bytes & 0xff;
    const low: u32 = this.len == 1 ? secondLow(lead) : 0x80;
    const high: u32 = this.len == 1 ? secondHigh(lead) : 0xbf;
    if (c < low || c > high) return false;
    this.bytes |= c << (this.len << 3);
    this.len++;
    return true;
  }

  get isWhole(): bool {
    return this.len == sequenceLength(this.bytes & 0xff);
  }
}
