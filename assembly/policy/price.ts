import { PRICED_FACTOR_MIN, stepMs } from "../cost/speed";
import { Candidates } from "./candidates";
import { Overview } from "./overview";
import { rendezvous } from "./rendezvous";
import { RequestCost } from "./request";
import { Weights } from "./weights";

/** Engine batches end here: more running requests than this wait instead. */
const BATCH_MAX: f64 = 256;
/**
 * What a ms is worth by which the answer takes longer once it has begun, beside a ms of waiting for it to begin. Counted in full,
 * short prompts left servers with many answers under way for those with long prompts before them (heavy-light at 0.9 of
 * saturation, eight seeds: TTFT p90 765 ms, and p99 of the light ones 1,100, against 527 and 732 at 0.4). Since heavy prompts
 * are kept from spreading, with 0.4 / 0.1 p90 is 473 / 385 (seeds 1, 4), of agents 5,282 / 5,062, of tool agents 3,324 / 3,334.
 * What is between loads adapters elsewhere in time (tests/filter/models).
 */
const DECODE_WEIGHT: f64 = 0.2;
/**
 * Others wait for a prompt in proportion to the batch: in this share by the server's own, for the rest by the fleet's mean. By
 * the own one alone light prompts crowd where a heavy one has just ended and few answers are under way (heavy-light, seeds 1, 4:
 * p90 318 and 611 ms; at 0.5 222 and 551); by the mean alone a server that was slow for a while isn't tried again
 * (tests/filter/learning).
 */
const OWN_BATCH: f64 = 0.5;
/** A reported waiting request is at least of this size, whatever this gateway's own are like: tokens. */
export const WAITING_TOKENS: f64 = 256;

/**
 * Expected milliseconds of a request on each usable host, into `costMs`:
 *
 * cost = wait + prefill of what isn't cached + decode at the host's batch (weighed)
 *      + others' price (those who wait while mine is prefilled)
 *      + eviction price (what mine displaces) + pressure price (KV, GPU)
 *      + tie and home terms (agreement between gateways)
 *      + what the view charges (an adapter to load, a slow start)
 */
export function price(c: Candidates, o: Overview, r: RequestCost, w: Weights): void {
  const tieMs = w.tieMs * Math.min(speedOf(r), 1);
  const known = r.knownSlot >= 0;
  const awayMs = away(o, r, w, known ? stay(c, r, w, tieMs) : 0) / (1 + r.crowd);
  // A new conversation is at home where its rendezvous score is highest: found on the way, so the price of not being at home
  // is charged everywhere first.
  let home = r.knownSlot;
  let homeScore: f64 = known ? Infinity : -1;
  const turnWeight = !known && r.sharedTokens < TURN_KNOWN * r.promptTokens ? w.turn : 0;

  // The same for all hosts: worked out once, for no compiler takes it out of a loop that stores.
  const key = r.key;
  const promptTokens = r.promptTokens;
  const sharedTokens = r.sharedTokens;
  const outputTokens = r.outputTokens;
  const msPerToken = w.prefillMsPerToken;
  const waitingMs = Math.max(r.meanWorkMs, WAITING_TOKENS * msPerToken);
  // A prefix that many conversations share pays its prefill once per host: only this request's part of that counts.
  const crowdShare = 1 / (1 + r.crowd);
  const othersShare = 1 - crowdShare / (1 + r.forks);
  const evictionWeight = w.eviction * r.reuseShare;
  const fleetBatch = (1 - OWN_BATCH) * o.meanBatch;

  for (let slot = 0; slot < c.count; slot++) {
    if (!unchecked(c.usable[slot])) continue;
    const prefillFactor = unchecked(c.prefillFactor[slot]);
    const pricedMs = msPerToken * Math.max(prefillFactor, PRICED_FACTOR_MIN);
    const fresh = unchecked(c.freshness[slot]);

    // Reports fade to what the busiest reporting host shows, so a host nobody hears from isn't taken for idle.
    const running = fade(unchecked(c.running[slot]), o.busiestRunning, fresh);
    const waiting = fade(unchecked(c.waiting[slot]), o.busiestWaiting, fresh);
    const under = running + unchecked(c.inFlight[slot]);
    const batch = Math.min(under, BATCH_MAX);
    let waitMs = unchecked(c.pendingMs[slot]) + waiting * waitingMs * prefillFactor;

    const known = unchecked(c.cachedTokens[slot]);
    const uncached = Math.max(promptTokens - known, 0);
    const prefillMs = uncached * pricedMs;
    const missing = Math.max(sharedTokens - known, 0);
    const countedMs = prefillMs - missing * pricedMs * othersShare;

    const decodeFactor = Math.max(unchecked(c.decodeFactor[slot]), PRICED_FACTOR_MIN);
    const decodeMs =
      outputTokens * stepMs(w.decodeStepMs, w.decodeMsPerSequence, batch + 1, decodeFactor);
    // A place in a full batch comes free as often as one of its answers ends.
    if (under > BATCH_MAX) waitMs += ((under - BATCH_MAX) / BATCH_MAX) * decodeMs;
    const othersMs = w.othersWait * crowdShare * prefillMs * (OWN_BATCH * batch + fleetBatch);
    const evictionMs = evictionWeight * unchecked(c.fill[slot]) * countedMs;
    const pressure = Math.max(
      w.kvPressure * fade(unchecked(c.kvUsage[slot]), o.busiestKv, fresh),
      w.gpuPressure * fade(unchecked(c.gpuUtilization[slot]), o.busiestGpu, fresh),
    );
    const pressureMs = pressure * (prefillMs + decodeMs);

    let cost = waitMs + countedMs + DECODE_WEIGHT * decodeMs + othersMs + evictionMs + pressureMs;
    const score = rendezvous(key, unchecked(c.hash[slot]));
    cost += tieMs * (1 - score);
    if (score > homeScore) {
      homeScore = score;
      home = slot;
    }
    cost += turnWeight * Math.min(countedMs, TURN_MS) * unchecked(c.turn[slot]);
    cost += unchecked(c.surchargeMs[slot]);
    unchecked((c.waitMs[slot] = waitMs));
    unchecked((c.prefillMs[slot] = uncached * msPerToken * prefillFactor));
    unchecked((c.costMs[slot] = cost + awayMs));
  }
  if (home >= 0) unchecked((c.costMs[home] -= awayMs));
}

/** A prompt of which less than this share is known goes by the gateway's own order of hosts. */
const TURN_KNOWN: f64 = 0.3;
/** Prefill beyond this counts no more there, ms: no order is worth waiting for a server beside an idle one. */
const TURN_MS: f64 = 100;
/** The price of not being at home grows with the prompt up to here, tokens. */
const HOME_TOKENS: f64 = 30000;
/** A known conversation's place is worth this many ties more. */
const STAY_TIES: f64 = 2;
/** A session that was named as one leaves its host only for one with so many sequences less in its batch, or as much less to wait. */
const STAY_SEQUENCES: f64 = 8;
/** Share of the price that a prompt pays of which nothing is known: it gains nothing at home but agreement. */
const HOME_COLD: f64 = 1.0 / 6.0;
/** Mean requests in flight per host at which the rest of the price has halved: under load, being served soon counts more. */
const HOME_LIGHT: f64 = 3;

/**
 * Price of not being at home. A known conversation is at home where it is; a new one where rendezvous hashing of its key puts
 * it, so that all gateways agree, and a restarted one too, without having talked. What is known of the prompt anywhere, or a
 * prompt that clearly went on from earlier turns, makes home more likely to have more of it.
 */
function away(o: Overview, r: RequestCost, w: Weights, stayMs: f64): f64 {
  const tokens = Math.min(r.promptTokens, HOME_TOKENS);
  const known = r.promptTokens > 0 ? Math.min(r.sharedTokens / r.promptTokens, 1) : 0;
  const crowd = o.meanInFlight / HOME_LIGHT;
  const share = HOME_COLD + (r.isContinued ? 1 : known) / (1 + crowd * crowd);
  const home = r.knownSlot >= 0 ? w.home : w.home * w.agreement;
  return home * share * tokens * w.prefillMsPerToken * speedOf(r) + stayMs;
}

/** The fleet's prefill factor, as prices have it. */
@inline
function speedOf(r: RequestCost): f64 {
  return Math.max(r.speedFactor, PRICED_FACTOR_MIN);
}

/** Price of leaving the host where a conversation is known to be. */
function stay(c: Candidates, r: RequestCost, w: Weights, tieMs: f64): f64 {
  const ties = STAY_TIES * tieMs;
  if (!r.isSession) return ties;
  const decodeFactor = Math.max(unchecked(c.decodeFactor[r.knownSlot]), PRICED_FACTOR_MIN);
  const sequenceMs = w.decodeMsPerSequence * decodeFactor;
  return ties + STAY_SEQUENCES * r.outputTokens * sequenceMs;
}

/** A reported value at its freshness; what is unknown or faded is filled up with `unknown`. */
@inline
function fade(reported: f64, unknown: f64, fresh: f64): f64 {
  return isNaN(reported) ? unknown : reported * fresh + unknown * (1 - fresh);
}
