/** Messages that may overtake each other and are still told apart. */
const WINDOW: i32 = 64;

/**
 * Which messages of a gateway have come: the highest number and a bit for each of the WINDOW below it, so that each counts
 * once in whatever order they come, over several connections and workers.
 */
export class Sequence {
  /** Highest number so far. */
  highest: u32 = 0;
  /** Bit i: number `highest` − i has come. */
  seen: u64 = 0;

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
