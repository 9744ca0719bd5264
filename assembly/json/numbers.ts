/** JSON's number grammar, byte by byte, so that a number may be cut anywhere. */

/** How much of a number has been read. */
export const enum NumberAt {
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
export function numberStep(at: NumberAt, c: u32): NumberAt {
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
export function numberMayEnd(at: NumberAt): bool {
  return (
    at == NumberAt.Zero ||
    at == NumberAt.Whole ||
    at == NumberAt.Fraction ||
    at == NumberAt.Power
  );
}
