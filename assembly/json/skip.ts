/** The search that carries the reading of long strings: 16 bytes at a time. */

/** Bytes searched between two looks at the limit. */
const STRIDE: usize = 64;

/** All ones in each byte that isn't plain string content. */
@inline
export function special(x: v128): v128 {
  // Signed comparison: 0x80..0xFF are negative, so one test finds controls and non-ASCII bytes.
  return v128.or(
    i8x16.lt_s(x, i8x16.splat(0x20)),
    v128.or(i8x16.eq(x, i8x16.splat(0x22)), i8x16.eq(x, i8x16.splat(0x5c))),
  );
}

/**
 * First address in `p..end` of a byte that isn't plain string content: a quote, a backslash, a
 * control below 0x20, or the first byte of anything outside ASCII. `end` where there is none.
 */
export function skipPlain(start: usize, end: usize): usize {
  let p = start;
  if (p + 16 <= end) {
    const mask = i8x16.bitmask(special(v128.load(p)));
    if (mask != 0) return p + ctz(mask);
    p += 16;
  }
  while (p + STRIDE <= end) {
    const a = special(v128.load(p));
    const b = special(v128.load(p, 16));
    const c = special(v128.load(p, 32));
    const d = special(v128.load(p, 48));
    if (v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) {
      const low = i8x16.bitmask(a) | (i8x16.bitmask(b) << 16);
      if (low != 0) return p + ctz(low);
      return p + 32 + ctz(i8x16.bitmask(c) | (i8x16.bitmask(d) << 16));
    }
    p += STRIDE;
  }
  while (p + 16 <= end) {
    const mask = i8x16.bitmask(special(v128.load(p)));
    if (mask != 0) return p + ctz(mask);
    p += 16;
  }
  while (p < end) {
    const c = <u32>load<u8>(p);
    if (c < 0x20 || c >= 0x80 || c == 0x22 || c == 0x5c) return p;
    p++;
  }
  return end;
}

/** How far is looked for the end of a short string, in bytes. */
const SHORT: usize = 64;

/** The end of the plain content that begins at `p`, looked for in the next bytes only. */
@inline
export function shortEnd(p: usize, end: usize): usize {
  if (p + 16 <= end) {
    const mask = i8x16.bitmask(special(v128.load(p)));
    if (mask != 0) return p + ctz(mask);
  }
  return skipPlain(p, min(end, p + SHORT));
}
