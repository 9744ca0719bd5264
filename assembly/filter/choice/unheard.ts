import { Config } from "../../config/config";
import { Candidates } from "../../policy/candidates";
import { Fleet } from "../fleet/fleet";

/**
 * Counters show what a step computed when it is over, and so up to one step's tokens as being in prefill that aren't: engines'
 * usual `max_num_batched_tokens`. Without this, multi-tenant chat, whose prompts are shorter than that, was better off without
 * the estimate (one of four gateways not heard, seed 2: TTFT p90 447 ms instead of 442, and 442 with this).
 */
const STEP_TOKENS: f64 = 2048;
/** More prefill than this isn't believed of counters, ms. */
const MOST_MS: f64 = 60_000;

/**
 * What gateways that aren't heard have in prefill, as servers' counters show it: prompt tokens that were looked up in the cache
 * and not found there, less those computed since. Of what a report shows, own requests and heard gateways' are known
 * better; the rest is taken to be worked off since, a ms in a ms.
 */
export class Unheard {
  /** How much of it counts: 0 while all are heard, 1 from one missing gateway on. */
  weight: f64 = 0;

  constructor(
    private config: Config,
    private fleet: Fleet,
  ) {}

  /** Adds it to what a host has to do before it would begin something new. */
  add(c: Candidates, slot: i32, nowMs: f64): void {
    const record = this.fleet.states.at(slot);
    if (record.sampleMs == 0 || isNaN(record.backlogTokens)) return;
    const tokenMs = this.config.cost.prefillMsPerToken * unchecked(c.prefillFactor[slot]);
    const shownMs = (record.backlogTokens - STEP_TOKENS) * tokenMs;
    const leftMs = shownMs - record.knownMs - (nowMs - record.sampleMs);
    if (leftMs > 0) unchecked((c.pendingMs[slot] += this.weight * Math.min(leftMs, MOST_MS)));
  }
}
