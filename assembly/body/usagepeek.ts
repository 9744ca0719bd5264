import { Text, equalsOneOf, equalsText, text } from "../bytes";

/** What a look at an event's bytes can tell. */
export const enum Peek {
  Nothing = 0,
  /** It may hold counts of tokens: worth reading as JSON. */
  Counts = 1,
  /** It holds text that was generated. */
  Content = 2,
  /** It holds an id. */
  Id = 4,
  /** It may hold an error. */
  Error = 8,
}

const ID = text("id");
const ERROR = text("error");

/** Keys of objects that hold counts. */
const COUNTS: StaticArray<Text> = [
  text("usage"),
  text("meta_info"),
  text("details"),
  text("timings"),
];

/** A key whose number is a count. */
const EVALUATED = text("tokens_evaluated");

/** Keys of strings that are generated text. */
const CONTENT: StaticArray<Text> = [
  text("content"),
  text("text"),
  text("text_output"),
  text("delta"),
  text("reasoning_content"),
  text("reasoning"),
  text("thinking"),
  text("partial_json"),
  text("arguments"),
];

/** Last letters of the keys above, as bits: a d e g n o r s t. */
const LAST_LETTERS: u32 =
  (1 << 0) |
  (1 << 3) |
  (1 << 4) |
  (1 << 6) |
  (1 << 13) |
  (1 << 14) |
  (1 << 17) |
  (1 << 18) |
  (1 << 19);

/** Whether a key names generated text. */
export function isContentKey(ptr: usize, len: i32): bool {
  return equalsOneOf(ptr, len, CONTENT);
}

/**
 * Looks through an event for the keys that matter, 16 bytes at a time, without reading it as JSON.
 * A key is a name in quotes before a colon; in a string's text the quotes are escaped, so text can't
 * be taken for a key.
 * @returns bits of `Peek`
 */
export function peek(start: usize, len: i32): i32 {
  const end = start + <usize>len;
  const quote = i8x16.splat(0x22);
  const colon = i8x16.splat(0x3a);
  const printable = i8x16.splat(0x21);
  let found = Peek.Nothing;
  let ptr = start;
  // The quote that ends a key is followed by a colon or a blank; most other quotes are not.
  while (ptr + 17 <= end) {
    const next = v128.load(ptr, 1);
    const ends = v128.or(i8x16.eq(next, colon), i8x16.lt_s(next, printable));
    let mask = i8x16.bitmask(v128.and(i8x16.eq(v128.load(ptr), quote), ends));
    while (mask != 0) {
      found |= peekQuote(start, ptr + ctz(mask), end);
      mask &= mask - 1;
    }
    ptr += 16;
  }
  for (; ptr < end; ptr++) if (load<u8>(ptr) == 0x22) found |= peekQuote(start, ptr, end);
  return found;
}

/** What the key that ends at the quote tells. */
@inline
function peekQuote(start: usize, quote: usize, end: usize): i32 {
  if (quote < start + 3) return Peek.Nothing;
  const letter = <u32>load<u8>(quote - 1) - 0x61;
  if (letter > 25 || ((LAST_LETTERS >> letter) & 1) == 0) return Peek.Nothing;
  return peekKey(start, quote, end);
}

function peekKey(start: usize, quote: usize, end: usize): i32 {
  let value = skipSpace(quote + 1, end);
  if (value >= end || load<u8>(value) != 0x3a) return Peek.Nothing;
  value = skipSpace(value + 1, end);
  if (value >= end) return Peek.Nothing;
  const first = load<u8>(value);
  if (first == 0x22) {
    if (isKey(start, quote, ID)) return Peek.Id;
    if (isKey(start, quote, ERROR)) return Peek.Error;
    if (value + 1 >= end || load<u8>(value + 1) == 0x22) return Peek.Nothing;
    return isOneOf(start, quote, CONTENT) ? Peek.Content : Peek.Nothing;
  }
  if (first == 0x7b && isKey(start, quote, ERROR)) return Peek.Error;
  if (first == 0x7b) return isOneOf(start, quote, COUNTS) ? Peek.Counts : Peek.Nothing;
  const isNumber = <u32>first - 0x30 < 10;
  return isNumber && isKey(start, quote, EVALUATED) ? Peek.Counts : Peek.Nothing;
}

function isOneOf(start: usize, quote: usize, keys: StaticArray<Text>): bool {
  for (let i = 0; i < keys.length; i++) if (isKey(start, quote, unchecked(keys[i]))) return true;
  return false;
}

function isKey(start: usize, quote: usize, key: Text): bool {
  const at = quote - key.len;
  return at > start && load<u8>(at - 1) == 0x22 && equalsText(at, key.len, key);
}

function skipSpace(ptr: usize, end: usize): usize {
  while (ptr < end && load<u8>(ptr) <= 0x20) ptr++;
  return ptr;
}
