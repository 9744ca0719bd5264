import { PRICED_FACTOR_MIN, stepMs } from "../cost/speed";
import { Candidates, meanInFlight } from "./candidates";
import { rendezvous } from "./rendezvous";
import { RequestCost } from "./request";
import { Weights } from "./weights";

/** Engine batches end here: more running requests than this wait instead. */
const BATCH_MAX: f64 = 256;
/** A reported waiting request is at least of this size, whatever this gateway's own are like: tokens. */
export const WAITING_TOKENS: f64 = 256;

/**
 * Expected milliseconds of a request on each usable host, into `costMs`:
 *
 * cost = wait + prefill of what isn't cached + decode at the host's batch
 *      + others' price (those who wait while mine is prefilled)
 *      + eviction price (what mine displaces) + pressure price (KV, GPU)
 *      + tie and home terms (agreement between gateways)
 *      + what the view charges (an adapter to load, a slow start)
 */
export function price(c: Candidates, r: RequestCost, w: Weights): void {
  const unknownRunning = busiestReport(c, c.running);
  const unknownWaiting = busiestReport(c, c.waiting);
  const unknownKv = busiestReport(c, c.kvUsage);
  const unknownGpu = busiestReport(c, c.gpuUtilization);
  const tieMs = w.tieMs * Math.min(speedOf(r), 1);
  const known = r.knownSlot >= 0;
  const home = known ? r.knownSlot : homeOf(c, r.key);
  const awayMs = away(c, r, w, known ? stay(c, r, w, tieMs) : 0);
  const turnWeight = !known && r.sharedTokens < TURN_KNOWN * r.promptTokens ? w.turn : 0;
  for (let slot = 0; slot < c.count; slot++) {
    if (!unchecked(c.usable[slot])) continue;
    const prefillFactor = unchecked(c.prefillFactor[slot]);
    const pricedMs = w.prefillMsPerToken * Math.max(prefillFactor, PRICED_FACTOR_MIN);
    const fresh = unchecked(c.freshness[slot]);

    // Reports fade to what the busiest reporting host shows, so a host nobody hears from isn't taken for idle.
    const running = fade(unchecked(c.running[slot]), unknownRunning, fresh);
    const waiting = fade(unchecked(c.waiting[slot]), unknownWaiting, fresh);
    const batch = Math.min(running + unchecked(c.inFlight[slot]), BATCH_MAX);
    const othersTokensMs = WAITING_TOKENS * w.prefillMsPerToken;
    const othersWorkMs = Math.max(r.meanWorkMs, othersTokensMs) * prefillFactor;
    const waitMs = unchecked(c.pendingMs[slot]) + waiting * othersWorkMs;

    const uncached = Math.max(r.promptTokens - unchecked(c.cachedTokens[slot]), 0);
    const prefillMs = uncached * pricedMs;
    // A prefix that many conversations share pays its prefill once per host: only this request's part of that counts.
    const missing = Math.max(r.sharedTokens - unchecked(c.cachedTokens[slot]), 0);
    const sharedMs = missing * pricedMs * (1 - 1 / (1 + r.forks));
    const countedMs = prefillMs - sharedMs;

    const decodeFactor = Math.max(unchecked(c.decodeFactor[slot]), PRICED_FACTOR_MIN);
    const decodeMs =
      r.outputTokens * stepMs(w.decodeStepMs, w.decodeMsPerSequence, batch + 1, decodeFactor);
    const othersMs = w.othersWait * prefillMs * batch;
    const evictionMs = w.eviction * r.reuseShare * unchecked(c.fill[slot]) * countedMs;
    const pressure = Math.max(
      w.kvPressure * fade(unchecked(c.kvUsage[slot]), unknownKv, fresh),
      w.gpuPressure * fade(unchecked(c.gpuUtilization[slot]), unknownGpu, fresh),
    );
    const pressureMs = pressure * (prefillMs + decodeMs);

    let cost = waitMs + countedMs + decodeMs + othersMs + evictionMs + pressureMs;
    cost += tieMs * (1 - rendezvous(r.key, unchecked(c.hash[slot])));
    if (slot != home) cost += awayMs;
    cost += turnWeight * countedMs * unchecked(c.turn[slot]);
    cost += unchecked(c.surchargeMs[slot]);
    unchecked((c.waitMs[slot] = waitMs));
    unchecked((c.prefillMs[slot] = uncached * w.prefillMsPerToken * prefillFactor));
    unchecked((c.costMs[slot] = cost));
  }
}

/** A prompt of which less than this share is known goes by the gateway's own order of hosts. */
const TURN_KNOWN: f64 = 0.3;
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
function away(c: Candidates, r: RequestCost, w: Weights, stayMs: f64): f64 {
  const tokens = Math.min(r.promptTokens, HOME_TOKENS);
  const known = r.promptTokens > 0 ? Math.min(r.sharedTokens / r.promptTokens, 1) : 0;
  const crowd = meanInFlight(c) / HOME_LIGHT;
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

/** Usable host with the highest rendezvous score, −1 for none. */
function homeOf(c: Candidates, key: u64): i32 {
  let home = -1;
  let best: f64 = -1;
  for (let slot = 0; slot < c.count; slot++) {
    if (!unchecked(c.usable[slot])) continue;
    const score = rendezvous(key, unchecked(c.hash[slot]));
    if (score > best) {
      best = score;
      home = slot;
    }
  }
  return home;
}

/** Reports down to this freshness stand for the unknown ones in full, older ones ever less. */
const TELLING_FRESHNESS: f64 = 0.25;

/** Highest reported value among usable hosts, 0 if nobody reports or is asked to. */
function busiestReport(c: Candidates, values: StaticArray<f64>): f64 {
  let most: f64 = 0;
  if (!c.areAsked) return most;
  for (let slot = 0; slot < c.count; slot++) {
    if (!unchecked(c.usable[slot])) continue;
    const weight = Math.min(unchecked(c.freshness[slot]) / TELLING_FRESHNESS, 1);
    const value = unchecked(values[slot]) * weight;
    if (value > most) most = value;
  }
  return most;
}

/** A reported value at its freshness; what is unknown or faded is filled up with `unknown`. */
@inline
function fade(reported: f64, unknown: f64, fresh: f64): f64 {
  return isNaN(reported) ? unknown : reported * fresh + unknown * (1 - fresh);
}
