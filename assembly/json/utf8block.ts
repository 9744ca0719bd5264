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

/** Place of each byte in a block. */
const PLACES: v128 = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

/**
 * How many of the first `room` bytes (1..16) of the block `x`, which starts a character, are whole characters: all of them but
 * one that the block's end cuts, or -1 where one of them is invalid.
 */
@inline
export function wholeCharacters(x: v128, room: i32): i32 {
  // What lies behind is blanked: a sequence that is cut there shows as too short.
  const y = room < 16 ? v128.and(x, i8x16.lt_s(PLACES, i8x16.splat(<i8>room))) : x;
  if (v128.any_true(errors(y))) return -1;
  if (room < 16) return room;
  const last = <u32>i32x4.extract_lane(x, 3);
  if (last >>> 24 >= 0xc0) return 15;
  if (((last >>> 16) & 0xff) >= 0xe0) return 14;
  return ((last >>> 8) & 0xff) >= 0xf0 ? 13 : 16;
}

/** Continuation bytes among the first `room` of the block. */
@inline
export function tailsIn(x: v128, room: i32): i32 {
  return popcnt(i8x16.bitmask(i8x16.lt_s(x, i8x16.splat(-64))) & ((1 << room) - 1));
}

/** For each byte of a block the place of the byte one, two, three before it; where there is none, one that reads as 0. */
const PLACES_1: v128 = i8x16(-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
const PLACES_2: v128 = i8x16(-1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
const PLACES_3: v128 = i8x16(-1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);

/** Not zero where `x`, which starts a character, has an error. */
@inline
function errors(x: v128): v128 {
  const prev1 = i8x16.swizzle(x, PLACES_1);
  const prev2 = i8x16.swizzle(x, PLACES_2);
  const prev3 = i8x16.swizzle(x, PLACES_3);
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
