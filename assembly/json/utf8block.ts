/**
 * Checks UTF-8 sixteen bytes at a time, by three table look-ups that each tell which errors a nibble
 * allows (the method of Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte").
 */

/** Errors, a bit each: what the byte before and this byte together can be. */
const TOO_SHORT: u8 = 1;
const TOO_LONG: u8 = 2;
const OVERLONG_3: u8 = 4;
const TOO_LARGE: u8 = 8;
const SURROGATE: u8 = 16;
const OVERLONG_2: u8 = 32;
const TOO_LARGE_1000: u8 = 64;
const OVERLONG_4: u8 = 64;
const TWO_CONTS: u8 = 128;
const CARRY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTS;

/** Continuation bytes passed by the last `skipText`. */
export let passedTails: i32 = 0;

/**
 * Passes whole characters from `p`, which starts one, in steps of 16 bytes: stops at a quote, a
 * backslash, a control below 0x20, in front of anything invalid, or fewer than 16 bytes before
 * `end`. Sets `passedTails`.
 */
export function skipText(start: usize, end: usize): usize {
  let p = start;
  let tails: i32 = 0;
  let before = i64x2.splat(0);
  while (p + 16 <= end) {
    let x = v128.load(p);
    const stops = i8x16.bitmask(
      v128.or(
        i8x16.lt_u(x, i8x16.splat(0x20)),
        v128.or(i8x16.eq(x, i8x16.splat(0x22)), i8x16.eq(x, i8x16.splat(0x5c))),
      ),
    );
    if (stops != 0) {
      // What lies behind the stop is blanked: a sequence cut by it shows as too short.
      const room = ctz(stops);
      x = v128.and(x, i8x16.lt_s(PLACES, i8x16.splat(<i8>room)));
      if (v128.any_true(errors(x, before))) break;
      passedTails = tails + popcnt(i8x16.bitmask(i8x16.lt_s(x, i8x16.splat(-64))));
      return p + room;
    }
    if (v128.any_true(errors(x, before))) break;
    tails += popcnt(i8x16.bitmask(i8x16.lt_s(x, i8x16.splat(-64))));
    before = x;
    p += 16;
  }
  // Back to the start of a sequence that isn't complete here.
  for (let back: i32 = 1; back <= 3 && p - back >= start; back++) {
    const c = <u32>load<u8>(p - back);
    if (c < 0x80) break;
    if (c < 0xc0) continue;
    const len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (len > back) {
      p -= back;
      tails -= back - 1;
    }
    break;
  }
  passedTails = tails;
  return p;
}

/** Place of each byte in a block. */
const PLACES: v128 = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

/** Not zero where `x`, behind the block `before`, has an error. */
@inline
function errors(x: v128, before: v128): v128 {
  const prev1 = v128.shuffle<u8>(
    before,
    x,
    15,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    26,
    27,
    28,
    29,
    30,
  );
  const prev2 = v128.shuffle<u8>(
    before,
    x,
    14,
    15,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    26,
    27,
    28,
    29,
  );
  const prev3 = v128.shuffle<u8>(
    before,
    x,
    13,
    14,
    15,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    26,
    27,
    28,
  );
  const byte1High = i8x16.swizzle(
    i8x16(
      TOO_LONG,
      TOO_LONG,
      TOO_LONG,
      TOO_LONG,
      TOO_LONG,
      TOO_LONG,
      TOO_LONG,
      TOO_LONG,
      TWO_CONTS,
      TWO_CONTS,
      TWO_CONTS,
      TWO_CONTS,
      TOO_SHORT | OVERLONG_2,
      TOO_SHORT,
      TOO_SHORT | OVERLONG_3 | SURROGATE,
      TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4,
    ),
    i8x16.shr_u(prev1, 4),
  );
  const byte1Low = i8x16.swizzle(
    i8x16(
      CARRY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,
      CARRY | OVERLONG_2,
      CARRY,
      CARRY,
      CARRY | TOO_LARGE,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000 | SURROGATE,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
      CARRY | TOO_LARGE | TOO_LARGE_1000,
    ),
    v128.and(prev1, i8x16.splat(0x0f)),
  );
  const byte2High = i8x16.swizzle(
    i8x16(
      TOO_SHORT,
      TOO_SHORT,
      TOO_SHORT,
      TOO_SHORT,
      TOO_SHORT,
      TOO_SHORT,
      TOO_SHORT,
      TOO_SHORT,
      TOO_LONG | OVERLONG_2 | TWO_CONTS | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4,
      TOO_LONG | OVERLONG_2 | TWO_CONTS | OVERLONG_3 | TOO_LARGE,
      TOO_LONG | OVERLONG_2 | TWO_CONTS | SURROGATE | TOO_LARGE,
      TOO_LONG | OVERLONG_2 | TWO_CONTS | SURROGATE | TOO_LARGE,
      TOO_SHORT,
      TOO_SHORT,
      TOO_SHORT,
      TOO_SHORT,
    ),
    i8x16.shr_u(x, 4),
  );
  const special = v128.and(v128.and(byte1High, byte1Low), byte2High);
  // The third byte of three and of four, and the fourth of four, must continue.
  const third = i8x16.sub_sat_u(prev2, i8x16.splat(0x60));
  const fourth = i8x16.sub_sat_u(prev3, i8x16.splat(0x70));
  const must = v128.and(v128.or(third, fourth), i8x16.splat(<i8>0x80));
  return v128.xor(must, special);
}
