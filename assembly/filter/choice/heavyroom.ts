import { Heavy } from "../../admission/heavy";
import { Room } from "../../admission/room";
import { Config } from "../../config/config";
import { Candidates } from "../../policy/candidates";
import { Decision } from "./decision";
import { View } from "./view";

/** A heavy prompt is urgent this long before it would be late where it is cheapest, ms: it may have to wait for another's end. */
const URGENT_MS: f64 = 300;

/** Which prompts are heavy, and when they may go where. */
export class HeavyRoom {
  private heavy: Heavy = new Heavy();

  constructor(
    private config: Config,
    private view: View,
  ) {}

  /** A prompt came that needs so many tokens computed. */
  note(tokens: f64): void {
    this.heavy.note(tokens);
  }

  /** A request came that needs so many tokens computed and keeps a server busy for so long, ms. */
  noteWork(tokens: f64, workMs: f64): void {
    this.heavy.noteWork(tokens, workMs);
  }

  /** Draws conclusions: now and then. */
  learn(): void {
    this.heavy.learn(<f64>this.config.admission.heavyPromptTokens);
  }

  /**
   * Tells whether the prompt is heavy, and whether it is kept for now. Heavy ones begin one at a time on a server, and on so few
   * servers at once that light ones find others with nothing long before them. In the filter they can be passed, and the
   * shortest goes first; so this costs them less than it gives them.
   */
  keep(c: Candidates, d: Decision, usable: i32): void {
    d.isHeavy =
      d.promptTokens >= this.heavy.fromTokens &&
      d.promptTokens - unchecked(c.cachedTokens[cheapest(c)]) >= this.heavy.fromTokens;
    const mayKeep = d.isHeavy && this.config.admission.enabled && !d.isFree;
    d.isKept = mayKeep && this.isKept(c, usable, d.slackMs);
    if (!this.view.isCrowded) return;
    // What is left for light ones is room for all that aren't kept.
    for (let slot = 0; slot < c.count; slot++) {
      if (unchecked(c.room[slot]) == Room.Light) unchecked((c.room[slot] = <u8>Room.All));
    }
  }

  /**
   * Whether a heavy prompt is kept: where it is cheapest it can't begin, or there would be too few servers left. It doesn't go
   * where it can begin though that is dearer: what it would have to compute anew, or whom it would make wait, costs more
   * (heavy-light, seeds 1, 4: p90 147 and 466 ms; 222 and 552 where it goes wherever it can begin unless a cache elsewhere
   * gives the first token sooner).
   */
  private isKept(c: Candidates, usable: i32, slackMs: f64): bool {
    const admission = this.config.admission;
    const longMs = this.heavy.fromTokens * this.config.cost.prefillMsPerToken;
    let best = -1;
    let open = 0;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot])) continue;
      // Where a heavy prompt has but a light one's time to go another may begin soon, so it counts as open.
      if (unchecked(c.pendingMs[slot]) < longMs * unchecked(c.prefillFactor[slot])) open++;
      if (unchecked(c.room[slot]) != Room.All) continue;
      if (best < 0 || unchecked(c.costMs[slot]) < unchecked(c.costMs[best])) best = slot;
    }
    if (best < 0) return true;
    if (!this.view.isLearned(best)) return false;
    if (unchecked(c.pendingMs[best]) > <f64>admission.lateBindingMs) return true;
    const isUrgent = slackMs < unchecked(c.waitMs[best]) + URGENT_MS;
    return open <= this.heavy.keptServers(usable, admission.heavyShare, isUrgent);
  }
}

/** The cheapest usable host; 0 if there is none. */
function cheapest(c: Candidates): i32 {
  let best = 0;
  let leastMs: f64 = Infinity;
  for (let slot = 0; slot < c.count; slot++) {
    if (!unchecked(c.usable[slot]) || unchecked(c.costMs[slot]) >= leastMs) continue;
    leastMs = unchecked(c.costMs[slot]);
    best = slot;
  }
  return best;
}
