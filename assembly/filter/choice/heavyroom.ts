import { Heavy } from "../../admission/heavy";
import { Room } from "../../admission/room";
import { Candidates } from "../../policy/candidates";
import { Decision } from "./decision";
import { View } from "./view";

/** Which prompts are heavy, and what room they find. */
export class HeavyRoom {
  private heavy: Heavy = new Heavy();
  /** Heavy from so many tokens to compute on. */
  private fromTokens: f64 = Infinity;

  /** A prompt came that needs so many tokens computed. */
  note(tokens: f64): void {
    this.heavy.note(tokens);
  }

  /** Draws conclusions: now and then. @param configured heavy from so many tokens on, 0 to learn it */
  learn(configured: f64): void {
    this.heavy.learn();
    this.fromTokens = configured > 0 ? configured : this.heavy.fromTokens;
  }

  /**
   * Heavy prompts don't go where they are dearer because they find no room where they are cheapest: that would put them before
   * the light ones everywhere. There is none for them, then, nor where every server has only the room left that is kept for
   * light ones; but a server that is idle is there for all. While held they wait for that server: whoever takes the first
   * chance anywhere takes it from the light ones.
   */
  keep(c: Candidates, d: Decision, view: View): void {
    let best = -1;
    let isOpen = false;
    let isAnyIdle = false;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot])) continue;
      if (best < 0 || unchecked(c.costMs[slot]) < unchecked(c.costMs[best])) best = slot;
      if (unchecked(c.room[slot]) != Room.All) continue;
      isOpen = true;
      isAnyIdle = isAnyIdle || view.isIdle(c, slot);
    }
    const tokens = best < 0 ? 0 : d.promptTokens - unchecked(c.cachedTokens[best]);
    d.isHeavy = tokens >= this.fromTokens;
    const bound = d.boundSlot;
    const isBound = bound >= 0 && bound < c.count && unchecked(c.usable[bound]) != 0;
    const isKept =
      !isBound && d.isHeavy && !isAnyIdle && (!isOpen || unchecked(c.room[best]) == Room.None);
    if (isKept) d.boundSlot = best;
    const isLeft = isOpen || !d.isHeavy;
    for (let slot = 0; slot < c.count; slot++) {
      const room = unchecked(c.room[slot]);
      if (isKept || (isBound && slot != bound)) unchecked((c.room[slot] = <u8>Room.None));
      else if (room == Room.Light) unchecked((c.room[slot] = <u8>(isLeft ? Room.All : Room.None)));
    }
  }
}
