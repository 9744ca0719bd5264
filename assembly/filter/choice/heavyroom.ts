import { Heavy } from "../../admission/heavy";
import { Room } from "../../admission/room";
import { Config } from "../../config/config";
import { Candidates } from "../../policy/candidates";
import { Decision } from "./decision";
import { View } from "./view";

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
    d.isKept = false;
    d.isHeavy =
      d.promptTokens >= this.heavy.fromTokens &&
      d.promptTokens - unchecked(c.cachedTokens[cheapest(c)]) >= this.heavy.fromTokens;
    if (d.isHeavy && this.config.admission.enabled && !d.isFree) this.keepHeavy(c, d, usable);
    if (!this.view.isCrowded) return;
    // What is left for light ones is room for all that aren't kept.
    for (let slot = 0; slot < c.count; slot++) {
      if (unchecked(c.room[slot]) == Room.Light) unchecked((c.room[slot] = <u8>Room.All));
    }
  }

  /** A heavy prompt is kept, or has room only where it can begin. */
  private keepHeavy(c: Candidates, d: Decision, usable: i32): void {
    const admission = this.config.admission;
    const limitMs = <f64>admission.lateBindingMs;
    const longMs = this.heavy.fromTokens * this.config.cost.prefillMsPerToken;
    let open = 0;
    let soonestMs: f64 = Infinity;
    let soonestHereMs: f64 = Infinity;
    let isUnlearned = false;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot])) continue;
      const pendingMs = unchecked(c.pendingMs[slot]);
      // Where a heavy prompt has but a light one's time to go another may begin soon, so it counts as open.
      if (pendingMs < longMs * unchecked(c.prefillFactor[slot])) open++;
      if (unchecked(c.room[slot]) != Room.All) continue;
      if (!this.view.isLearned(slot)) isUnlearned = true;
      const firstMs = pendingMs + unchecked(c.prefillMs[slot]);
      soonestMs = Math.min(soonestMs, firstMs);
      if (pendingMs <= limitMs) soonestHereMs = Math.min(soonestHereMs, firstMs);
    }
    if (isUnlearned) return;
    // Where more of it is cached it may begin later and be done sooner.
    d.isKept =
      soonestHereMs > soonestMs + limitMs ||
      soonestHereMs == Infinity ||
      open <= this.heavy.keptServers(usable, admission.heavyShare);
    if (d.isKept) return;
    for (let slot = 0; slot < c.count; slot++) {
      const isHere = unchecked(c.pendingMs[slot]) <= limitMs;
      if (!isHere || unchecked(c.room[slot]) != Room.All) unchecked((c.room[slot] = <u8>Room.None));
    }
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
