import { decodeGapMs } from "../../admission/pace";
import { Room } from "../../admission/room";
import { Config } from "../../config/config";
import { stepMs } from "../../cost/speed";
import { Candidates } from "../../policy/candidates";
import { Fleet } from "../fleet/fleet";
import { View } from "./view";

/** A server that takes this many times the expected time for its queue, and so many ms more, isn't about to be done with it. */
const LATE_FACTOR: f64 = 2;
const LATE_MS: f64 = 50;

/**
 * A prefill that takes less than this share of the time that the answer to its own request may take is no reason to wait for
 * others' answers: those of its kind can bear it (tool-agents, seeds 1, 4: p50, p90 114, 3,843 ms and 127, 3,847 with 0.1; 129,
 * 4,073 where every prefill waits).
 */
const BORNE_SHARE: f64 = 0.2;

/** When could a server begin with something new? As of the candidates' last `fill` and `price`. */
export class Openings {
  constructor(
    private config: Config,
    private fleet: Fleet,
    private view: View,
  ) {}

  /**
   * Whether at each usable host a request would wait for long behind others that were sent from here, or before the answers
   * there have got their tokens: better it waits here, where it can pass and be passed. What waits there for others is no
   * reason, for nothing from here can pass that.
   * @param outputTokens expected of the request
   */
  areNone(c: Candidates, outputTokens: f64, nowMs: f64): bool {
    if (!this.config.admission.enabled) return false;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot]) || unchecked(c.room[slot]) == Room.None) continue;
      if (!this.view.isLearned(slot) || this.isOpen(c, slot, outputTokens, nowMs)) return false;
    }
    return true;
  }

  /** At how many hosts a request could begin now. @param outputTokens expected of it */
  count(c: Candidates, outputTokens: f64, nowMs: f64): i32 {
    let open = 0;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot]) || unchecked(c.room[slot]) == Room.None) continue;
      if (this.isOpen(c, slot, outputTokens, nowMs)) open++;
    }
    return open;
  }

  /** Of the usable hosts that have room, the one where a request would have its first token soonest; `otherwise` if none has. */
  soonest(c: Candidates, otherwise: i32, nowMs: f64): i32 {
    let best = otherwise;
    let least: f64 = Infinity;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot]) || unchecked(c.room[slot]) == Room.None) continue;
      const firstMs = this.remainingMs(c, slot, nowMs) + unchecked(c.prefillMs[slot]);
      if (firstMs >= least) continue;
      best = slot;
      least = firstMs;
    }
    return best;
  }

  /**
   * Time until a host is done with what it has, to compare hosts by, ms. Below 0 where it should be done already: steps take a
   * bit longer than their prefill, so of two such hosts the one that is on for longer is done sooner, which the price, careful
   * with what is late, takes for the opposite.
   */
  private remainingMs(c: Candidates, slot: i32, nowMs: f64): f64 {
    const inFlight = this.fleet.inFlight;
    const waitMs = unchecked(c.waitMs[slot]);
    if (inFlight.waiting(slot) == 0) return waitMs;
    const workMs = inFlight.workMs(slot);
    const sinceMs = nowMs - inFlight.newestMs(slot);
    if (sinceMs > workMs * LATE_FACTOR + LATE_MS) return waitMs;
    return waitMs - unchecked(c.pendingMs[slot]) + workMs - sinceMs;
  }

  /** Whether a host could begin with a request now: what waits there is short, and answers there can bear its prefill. */
  private isOpen(c: Candidates, slot: i32, outputTokens: f64, nowMs: f64): bool {
    const admission = this.config.admission;
    if (unchecked(c.pendingMs[slot]) > <f64>admission.lateBindingMs) return false;
    const lastMs = this.fleet.inFlight.lastPrefillMs(slot);
    const ownMs = unchecked(c.prefillMs[slot]);
    const isBorne = ownMs <= BORNE_SHARE * <f64>admission.tpotMs * outputTokens;
    return !this.isDecoding(c, slot, isBorne ? lastMs : Math.max(ownMs, lastMs), nowMs);
  }

  /**
   * Whether a host has yet to give its answers the tokens that make up for a prefill, one before or one to come.
   * @param prefillMs how long that takes, ms
   */
  isDecoding(c: Candidates, slot: i32, prefillMs: f64, nowMs: f64): bool {
    const inFlight = this.fleet.inFlight;
    const decoding = <f64>inFlight.totalDecoding(slot);
    if (decoding == 0) return false;
    const cost = this.config.cost;
    const factor = unchecked(c.decodeFactor[slot]);
    const ownStepMs = stepMs(cost.decodeStepMs, cost.decodeMsPerSequence, decoding, factor);
    const goalMs = <f64>this.config.admission.tpotMs;
    const gapMs = decodeGapMs(prefillMs, ownStepMs, goalMs);
    const sinceMs = nowMs - inFlight.newestMs(slot);
    return sinceMs >= 0 && sinceMs < gapMs;
  }
}
