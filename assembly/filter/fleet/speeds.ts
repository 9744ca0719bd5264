import { PRICED_FACTOR_MIN } from "../../cost/speed";
import { HostDirectory } from "../../state/hosts";
import { HostStates } from "../../state/hoststates";
import { MAX_HOSTS } from "../../state/layout";
import { PeerLoads } from "../../state/peerloads";

/** Factors within this log distance of the fleet's median are taken to be the median: measuring noise of equal servers. */
const EQUAL: f64 = 0.3;
/** From this log distance on a factor counts in full. */
const DIFFERENT: f64 = 0.7;
/** A host's own factor counts half after so many answers: one odd early answer must not brand a server for long. */
const EVIDENCE: f64 = 1;
/**
 * What was learned fades towards the fleet's median while nothing is learned, so that a host is tried again: the sooner, the
 * less is known of it: time per answer, and at most, ms. One odd answer keeps a host from work for a minute or two.
 */
const FADE_SAMPLE_MS: f64 = 10000;
export const FADE_MS: f64 = 600000;
/** A factor is about its last so many answers: more give it no more weight beside other gateways' factors. */
const SETTLED_ANSWERS: f64 = 12;

/**
 * Speed factors as a choice uses them. Equal servers never measure exactly equal, and on a long answer a few percent would
 * outweigh a short conversation's cache; so only clear differences from the fleet's median count, smoothly, and only as far as
 * there is evidence.
 */
export class Speeds {
  readonly prefill: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly decode: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** The fleet's median prefill factor. */
  medianPrefill: f64 = 1;
  private sorted: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);

  constructor(
    private hosts: HostDirectory,
    private states: HostStates,
    private peers: PeerLoads,
  ) {
    this.prefill.fill(1);
    this.decode.fill(1);
  }

  /** Takes the learned factors over: at ticks. */
  refresh(nowMs: f64): void {
    const count = this.hosts.count;
    for (let slot = 0; slot < count; slot++) {
      const record = this.states.at(slot);
      const told = this.peers.speeds;
      const prefill = together(
        record.prefillFactor,
        record.prefillSamples,
        unchecked(told.prefillLogs[slot]),
        unchecked(told.prefillSamples[slot]),
      );
      const decode = together(
        record.decodeFactor,
        record.decodeSamples,
        unchecked(told.decodeLogs[slot]),
        unchecked(told.decodeSamples[slot]),
      );
      // A server that is slow at one is taken to be slow at the other until it has shown that.
      // Of one that has shown nothing yet (NaN) the others' speed is expected, not the prior's.
      unchecked((this.prefill[slot] = prefill > 0 ? prefill : decode > 0 ? decode : NaN));
      unchecked((this.decode[slot] = decode > 0 ? decode : prefill > 0 ? prefill : NaN));
    }
    this.medianPrefill = this.shrink(this.prefill, count, true, nowMs);
    this.shrink(this.decode, count, false, nowMs);
  }

  /** Draws factors towards their median; returns that. */
  private shrink(factors: StaticArray<f64>, count: i32, isPrefill: bool, nowMs: f64): f64 {
    const median = this.median(factors, count);
    for (let slot = 0; slot < count; slot++) {
      if (isNaN(unchecked(factors[slot]))) {
        unchecked((factors[slot] = median));
        continue;
      }
      const record = this.states.at(slot);
      const told = this.peers.speeds;
      const toldSamples = unchecked(
        isPrefill ? told.prefillSamples[slot] : told.decodeSamples[slot],
      );
      const idleMs = toldSamples > 0 ? 0 : Math.max(nowMs - record.learnedMs, 0);
      const priced = Math.max(unchecked(factors[slot]), PRICED_FACTOR_MIN);
      const ratio = priced / Math.max(median, PRICED_FACTOR_MIN);
      const samples = isPrefill ? record.prefillSamples : record.decodeSamples;
      const fadeMs = Math.min(<f64>max(samples, 1) * FADE_SAMPLE_MS, FADE_MS);
      const distance = Math.log(ratio) * Math.exp(-idleMs / fadeMs);
      const weight = Math.min(Math.max((Math.abs(distance) - EQUAL) / (DIFFERENT - EQUAL), 0), 1);
      // A first token alone is some evidence already.
      const seen = Math.max(<f64>samples + toldSamples, 1);
      const evidence = seen / (seen + EVIDENCE);
      unchecked((factors[slot] = median * Math.exp(distance * weight * evidence)));
    }
    return median;
  }

  /** Median of the known hosts' known factors; 1 if there is none. */
  private median(factors: StaticArray<f64>, count: i32): f64 {
    let used = 0;
    for (let slot = 0; slot < count; slot++) {
      if (!this.hosts.isKnown(slot)) continue;
      const value = unchecked(factors[slot]);
      if (isNaN(value)) continue;
      let place = used++;
      while (place > 0 && unchecked(this.sorted[place - 1]) > value) {
        unchecked((this.sorted[place] = unchecked(this.sorted[place - 1])));
        place--;
      }
      unchecked((this.sorted[place] = value));
    }
    return used > 0 ? unchecked(this.sorted[(used - 1) >> 1]) : 1;
  }
}

/**
 * Factor of own answers and of those that other gateways told of, 0 for none.
 * @param toldLogs Σ of the others' answers × ln of their factor
 */
function together(factor: f64, samples: u32, toldLogs: f64, told: f64): f64 {
  if (told == 0) return factor;
  // A factor without a whole answer is from a first token alone.
  const own = factor > 0 ? Math.min(Math.max(<f64>samples, 1), SETTLED_ANSWERS) : 0;
  const logs = own > 0 ? own * Math.log(factor) : 0;
  return Math.exp((logs + toldLogs) / (own + told));
}
