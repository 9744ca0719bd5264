/** Whether the last `parseNumber` read a number; NaN and the infinities are numbers too. */
export let numberOk: bool = false;

/** Powers of ten that a double holds exactly. */
const POWERS: StaticArray<f64> = [
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
  1e18, 1e19, 1e20, 1e21, 1e22,
];

/** Digits that fit 64 bits whatever they are. */
const MAX_DIGITS: i32 = 18;

/** Exponents beyond this are 0 or infinite for any 18 digits. */
const MAX_EXPONENT: i32 = 400;

/**
 * Reads a number as JSON and the exposition formats of metrics spell it: decimal with optional sign, fraction and exponent, or
 * `NaN`, `Inf`, `Infinity` in any case. Exact up to 15 digits and small exponents, else within 1e-15 of the value.
 * @returns the value; NaN with `numberOk` false if the bytes are anything else
 */
export function parseNumber(ptr: usize, len: i32): f64 {
  numberOk = false;
  const end = ptr + len;
  if (ptr >= end) return NaN;
  let negative = false;
  const first = load<u8>(ptr);
  if (first == 0x2b || first == 0x2d) {
    negative = first == 0x2d;
    ptr++;
  }
  let mantissa: u64 = 0;
  let digits = 0;
  let exponent = 0;
  let any = false;
  let point = false;
  for (; ptr < end; ptr++) {
    const c: u32 = load<u8>(ptr);
    if (c - 0x30 < 10) {
      any = true;
      if (digits < MAX_DIGITS) {
        mantissa = mantissa * 10 + (c - 0x30);
        if (mantissa != 0) digits++;
        if (point) exponent--;
      } else if (!point) {
        exponent++;
      }
    } else if (c == 0x2e && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (!any) return point ? NaN : parseWord(ptr, end, negative);
  if (ptr < end) {
    if ((load<u8>(ptr) | 0x20) != 0x65) return NaN;
    ptr++;
    let down = false;
    if (ptr < end && (load<u8>(ptr) == 0x2b || load<u8>(ptr) == 0x2d)) {
      down = load<u8>(ptr) == 0x2d;
      ptr++;
    }
    if (ptr >= end) return NaN;
    let power = 0;
    for (; ptr < end; ptr++) {
      const c: u32 = load<u8>(ptr);
      if (c - 0x30 >= 10) return NaN;
      if (power < 100000) power = power * 10 + <i32>(c - 0x30);
    }
    exponent += down ? -power : power;
  }
  numberOk = true;
  const value = scaled(mantissa, exponent);
  return negative ? -value : value;
}

/** mantissa × 10^exponent. */
function scaled(mantissa: u64, exponent: i32): f64 {
  let value = <f64>mantissa;
  if (mantissa == 0 || exponent == 0) return value;
  if (exponent > MAX_EXPONENT) return Infinity;
  if (exponent < -MAX_EXPONENT) return 0;
  for (; exponent > 22; exponent -= 22) value *= 1e22;
  for (; exponent < -22; exponent += 22) value /= 1e22;
  return exponent < 0 ? value / unchecked(POWERS[-exponent]) : value * unchecked(POWERS[exponent]);
}

/** `nan`, `inf`, `infinity` in any case. */
function parseWord(ptr: usize, end: usize, negative: bool): f64 {
  const len = <i32>(end - ptr);
  if (len != 3 && len != 8) return NaN;
  const head = lower(ptr) | (lower(ptr + 1) << 8) | (lower(ptr + 2) << 16);
  if (len == 3 && head == 0x6e616e) {
    numberOk = true;
    return NaN;
  }
  if (head != 0x666e69) return NaN;
  if (len == 8) {
    const tail =
      lower(ptr + 3) | (lower(ptr + 4) << 8) | (lower(ptr + 5) << 16) | (lower(ptr + 6) << 24);
    if (tail != 0x74696e69 || lower(ptr + 7) != 0x79) return NaN;
  }
  numberOk = true;
  return negative ? -Infinity : Infinity;
}

@inline
function lower(ptr: usize): u32 {
  return <u32>load<u8>(ptr) | 0x20;
}
