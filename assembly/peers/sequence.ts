/** Messages that may overtake each other and are still told apart. */
const WINDOW: i32 = 64;
/** A message and the seven before it. */
const RECENT: u64 = 0xff;

/**
 * Which messages of a gateway have come: the highest number and a bit for each of the WINDOW below it, so that each counts
 * once in whatever order they come, over several connections and workers.
 */
export class Sequence {
  /** Highest number so far. */
  highest: u32 = 0;
  /** Bit i: number `highest` − i has come. */
  seen: u64 = 0;

  /**
   * Whether the message of a number has come, and the RECENT before it, as far as any did: what was said before the first
   * that came is missed by nobody. @param seen as of this class
   */
  static isWhole(highest: u32, seen: u64, number: u32): bool {
    const behind = <i32>(highest - number);
    if (behind < 0) return false;
    const missing = seen == 0 ? 0 : ~seen & (u64.MAX_VALUE >>> clz(seen));
    return behind >= WINDOW || ((missing >>> behind) & RECENT) == 0;
  }

  /** Notes a message. False: it came before, or is too old to tell. */
  take(number: u32): bool {
    const ahead = <i32>(number - this.highest);
    if (this.seen == 0 || ahead > 0) {
      const shift = this.seen == 0 ? WINDOW : ahead;
      this.seen = shift >= WINDOW ? 1 : (this.seen << shift) | 1;
      this.highest = number;
      return true;
    }
    if (ahead <= -WINDOW) return false;
    const bit = (<u64>1) << -ahead;
    if ((this.seen & bit) != 0) return false;
    this.seen |= bit;
    return true;
  }
}
