/** What stands behind a backslash in a JSON string. */

/** By the byte behind the backslash: what the two stand for, or 0. */
export const SIMPLE_ESCAPES = memory.data(256);
store<u8>(SIMPLE_ESCAPES + 0x22, 0x22);
store<u8>(SIMPLE_ESCAPES + 0x5c, 0x5c);
store<u8>(SIMPLE_ESCAPES + 0x2f, 0x2f);
store<u8>(SIMPLE_ESCAPES + 0x62, 0x08);
store<u8>(SIMPLE_ESCAPES + 0x66, 0x0c);
store<u8>(SIMPLE_ESCAPES + 0x6e, 0x0a);
store<u8>(SIMPLE_ESCAPES + 0x72, 0x0d);
store<u8>(SIMPLE_ESCAPES + 0x74, 0x09);

/** By byte: the value of a hexadecimal digit, or 255. */
const HEX_DIGITS = memory.data(256);
memory.fill(HEX_DIGITS, 255, 256);
for (let digit: u8 = 0; digit < 10; digit++) store<u8>(HEX_DIGITS + 0x30 + digit, digit);
for (let digit: u8 = 10; digit < 16; digit++) {
  store<u8>(HEX_DIGITS + 0x37 + digit, digit);
  store<u8>(HEX_DIGITS + 0x57 + digit, digit);
}

/** The UTF-16 unit that four hexadecimal digits spell, or -1. */
@inline
export function hexUnit(p: usize): i32 {
  const a = <i32>load<u8>(HEX_DIGITS + <usize>load<u8>(p));
  const b = <i32>load<u8>(HEX_DIGITS + <usize>load<u8>(p, 1));
  const c = <i32>load<u8>(HEX_DIGITS + <usize>load<u8>(p, 2));
  const d = <i32>load<u8>(HEX_DIGITS + <usize>load<u8>(p, 3));
  return (a | b | c | d) > 15 ? -1 : (a << 12) | (b << 8) | (c << 4) | d;
}

/** One escape, byte by byte, so that it may be cut anywhere. */
@final
export class EscapeReader {
  /** Whether its end hasn't come yet. */
  isOpen: bool = false;
  /** The UTF-16 unit it stands for, once it isn't open any more. */
  unit: u32 = 0;
  /** Hexadecimal digits still to come, −1 right behind the backslash. */
  private digits: i32 = 0;

  /** Behind the backslash. */
  begin(): void {
    this.isOpen = true;
    this.digits = -1;
  }

  /** Takes the next byte; false where it can't follow. */
  add(c: u32): bool {
    if (this.digits < 0) {
      if (c == 0x75) {
        this.unit = 0;
        this.digits = 4;
        return true;
      }
      this.unit = load<u8>(SIMPLE_ESCAPES + c);
      this.isOpen = false;
      return this.unit != 0;
    }
    let digit = c - 0x30;
    if (digit > 9) {
      digit = (c | 0x20) - 0x61;
      if (digit > 5) return false;
      digit += 10;
    }
    this.unit = (this.unit << 4) | digit;
    if (--this.digits == 0) this.isOpen = false;
    return true;
  }
}
