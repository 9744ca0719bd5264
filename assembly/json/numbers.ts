/** JSON's number grammar, byte by byte, so that a number may be cut anywhere. */
import { copyShort } from "../bytes";

/** Longest spelling of a number that comes whole, in bytes. */
export const MAX_NUMBER_BYTES: i32 = 64;

/** How much of a number has been read. */
const enum NumberAt {
  Sign,
  Zero,
  Whole,
  Dot,
  Fraction,
  Exponent,
  ExponentSign,
  Power,
  /** The byte doesn't continue the number. */
  Stop,
}

/** The place behind byte `c`, or `Stop`. */
function numberStep(at: NumberAt, c: u32): NumberAt {
  if (c - 0x30 <= 9) {
    switch (at) {
      case NumberAt.Sign:
        return c == 0x30 ? NumberAt.Zero : NumberAt.Whole;
      case NumberAt.Whole:
        return NumberAt.Whole;
      case NumberAt.Dot:
      case NumberAt.Fraction:
        return NumberAt.Fraction;
      case NumberAt.Exponent:
      case NumberAt.ExponentSign:
      case NumberAt.Power:
        return NumberAt.Power;
      default:
        return NumberAt.Stop;
    }
  }
  if (c == 0x2e) {
    return at == NumberAt.Zero || at == NumberAt.Whole ? NumberAt.Dot : NumberAt.Stop;
  }
  if ((c | 0x20) == 0x65) {
    const may = at == NumberAt.Zero || at == NumberAt.Whole || at == NumberAt.Fraction;
    return may ? NumberAt.Exponent : NumberAt.Stop;
  }
  if (c == 0x2b || c == 0x2d) {
    return at == NumberAt.Exponent ? NumberAt.ExponentSign : NumberAt.Stop;
  }
  return NumberAt.Stop;
}

/** Whether a number may end here. */
function numberMayEnd(at: NumberAt): bool {
  return (
    at == NumberAt.Zero || at == NumberAt.Whole || at == NumberAt.Fraction || at == NumberAt.Power
  );
}

/** Reads a number for a scanner. */
@final
export class NumberReader {
  /** Whether its end was found, and whether it is a number. */
  isDone: bool = false;
  isValid: bool = false;
  /** Its spelling, once it is done. */
  ptr: usize = 0;
  len: i32 = 0;

  private at: NumberAt = NumberAt.Sign;
  private kept: StaticArray<u8> = new StaticArray<u8>(MAX_NUMBER_BYTES);
  private keptLen: i32 = 0;

  /** A number begins. */
  begin(): void {
    this.isDone = false;
    this.at = NumberAt.Sign;
    this.keptLen = 0;
  }

  /** Reads on; stops in front of the first byte that doesn't belong to it. */
  read(start: usize, end: usize): usize {
    let p = start;
    let at = this.at;
    if (at == NumberAt.Sign && load<u8>(p) == 0x2d && this.keptLen == 0) p++;
    while (p < end) {
      const next = numberStep(at, load<u8>(p));
      if (next == NumberAt.Stop) {
        this.at = at;
        this.end(start, <i32>(p - start));
        return p;
      }
      at = next;
      p++;
    }
    this.at = at;
    this.keep(start, <i32>(p - start));
    return p;
  }

  /** It ends behind these last bytes. */
  end(ptr: usize, len: i32): void {
    this.isDone = true;
    this.isValid = numberMayEnd(this.at);
    if (this.keptLen == 0) {
      this.ptr = ptr;
      this.len = min(len, MAX_NUMBER_BYTES);
      return;
    }
    this.keep(ptr, len);
    this.ptr = changetype<usize>(this.kept);
    this.len = this.keptLen;
  }

  private keep(ptr: usize, len: i32): void {
    const room = min(len, MAX_NUMBER_BYTES - this.keptLen);
    copyShort(changetype<usize>(this.kept) + this.keptLen, ptr, room);
    this.keptLen += room;
  }
}

/** The end of a whole number that is complete in this chunk and not too long, or 0. */
@inline
export function wholeNumberEnd(start: usize, end: usize): usize {
  const limit = min(end, start + MAX_NUMBER_BYTES);
  let p = start + 1;
  if (p + 8 <= end) {
    const x = load<u64>(p) ^ 0x3030303030303030;
    const others = (x | ((x & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676)) & 0x8080808080808080;
    p += others == 0 ? 8 : <usize>(ctz(others) >> 3);
  }
  while (p < limit && <u32>load<u8>(p) - 0x30 <= 9) p++;
  if (p >= limit) return 0;
  const c = <u32>load<u8>(p);
  return c == 0x2e || (c | 0x20) == 0x65 ? 0 : p;
}
