import { Heavy } from "../../admission/heavy";
import { Room } from "../../admission/room";
import { Config } from "../../config/config";
import { Candidates } from "../../policy/candidates";
import { Decision } from "./decision";
import { Openings } from "./openings";
import { View } from "./view";

/** A heavy prompt is urgent this long before it would be late where it is cheapest, ms: it may have to wait for another's end. */
const URGENT_MS: f64 = 300;

/**
 * An urgent one waits until answers have made up for this share of it (heavy-light, seeds 5, 11, 12 at rate 4.33: heavy ones
 * within their goals 97.6 %, and TTFT p99 5.3 s; 96.9 and 5.6 where they wait like all, 97.1 and 5.2 where they don't wait).
 */
const URGENT_SHARE: f64 = 0.5;

/** Which prompts are heavy, and when they may go where. */
export class HeavyRoom {
  private heavy: Heavy = new Heavy();

  constructor(
    private config: Config,
    private view: View,
    private openings: Openings,
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
  keep(c: Candidates, d: Decision, usable: i32, nowMs: f64): void {
    d.isHeavy =
      d.promptTokens >= this.heavy.fromTokens &&
      d.promptTokens - unchecked(c.cachedTokens[cheapest(c)]) >= this.heavy.fromTokens;
    const mayKeep = d.isHeavy && this.config.admission.enabled && !d.isFree && d.keeper < 0;
    d.isKept = mayKeep && this.isKept(c, usable, d.slackMs, d.heldMs, nowMs);
    if (!this.view.isCrowded) return;
    // What is left for light ones is room for all that aren't kept.
    for (let slot = 0; slot < c.count; slot++) {
      if (unchecked(c.room[slot]) == Room.Light) unchecked((c.room[slot] = <u8>Room.All));
    }
  }

  /**
   * Whether a heavy prompt is kept: where it is cheapest it can't begin, or there would be too few servers left. It waits for
   * its cheapest place rather than go where it can begin though that is dearer: what it would have to compute anew, or whom it
   * would make wait, costs more (heavy-light, seeds 1, 4: p90 147 and 466 ms; 222 and 552 where it goes wherever it can begin
   * unless a cache elsewhere gives the first token sooner). But not for longer than that is dearer: see `goesElsewhere`.
   */
  private isKept(c: Candidates, usable: i32, slackMs: f64, heldMs: f64, nowMs: f64): bool {
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
    const isUrgent = slackMs < unchecked(c.waitMs[best]) + URGENT_MS;
    const share = isUrgent ? URGENT_SHARE : 1;
    const isBusy = this.isBusy(c, best, share, nowMs);
    if (isBusy && !this.goesElsewhere(c, best, heldMs, share, nowMs)) return true;
    return open <= this.heavy.keptServers(usable, admission.heavyShare);
  }

  /**
   * Whether a prompt that has waited for its cheapest place may go where it can begin now: once it has waited for as long as that
   * is dearer, so that it never pays more than twice (the rule for renting or buying skis). What waits before it isn't in the
   * price of its place, so without this many prompts wait one by one for a server that has what they share, beside idle ones
   * (hot-prefix before 64 servers at 0.65: p50, p99 304, 8,599 ms and 143, 2,089; heavy-light at 0.65, six seeds: p90, p99 235,
   * 6,548 ms and 253, 4,706). Leaves room there only.
   */
  private goesElsewhere(c: Candidates, best: i32, heldMs: f64, share: f64, nowMs: f64): bool {
    let leastMs: f64 = Infinity;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot]) || unchecked(c.room[slot]) != Room.All) continue;
      if (this.isBusy(c, slot, share, nowMs)) continue;
      leastMs = Math.min(leastMs, unchecked(c.costMs[slot]));
    }
    if (leastMs - unchecked(c.costMs[best]) > heldMs) return false;
    for (let slot = 0; slot < c.count; slot++) {
      if (this.isBusy(c, slot, share, nowMs)) unchecked((c.room[slot] = <u8>Room.None));
    }
    return true;
  }

  /**
   * Whether a heavy prompt can't begin at a host now: another waits there, or an answer has begun so lately that it hasn't got the
   * tokens yet that make up for this one. Heavy prompts come one after another, so each answer would be held up by several
   * (heavy-light, six seeds at rates 4.33, 5.5, 7: 99.8, 99.0, 95.7 % within the goals; 98.6, 96.1, 87.4 where only what was
   * prefilled last counts, and nearly all that was missed were light ones' times per token).
   * @param share of its prefill that is to be made up for, 0..1
   */
  private isBusy(c: Candidates, slot: i32, share: f64, nowMs: f64): bool {
    if (unchecked(c.pendingMs[slot]) > <f64>this.config.admission.lateBindingMs) return true;
    return this.openings.isDecoding(c, slot, share * unchecked(c.prefillMs[slot]), nowMs);
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
