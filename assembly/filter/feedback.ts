import { factorOr1, learnFactor } from "../cost/speed";
import { noteOutput } from "../cost/output";
import { learnBytesPerToken } from "../cost/tokens";
import { HostRecord } from "../state/hostrecord";
import { CAS_ATTEMPTS } from "../state/layout";
import { Learned } from "../state/learned";
import { noteCasGaveUp } from "../state/record";
import { expectedStepMs, outputKey, ratioKey } from "./decide";
import { Decision } from "./decision";
import { Root } from "./root";
import { Stream } from "./stream";

/** Young prefixes in a row that weren't cached: the cache was flushed. Doubled after each flush that didn't explain them. */
const FLUSHED_AFTER: u32 = 3;
const FLUSH_DOUBLINGS: u32 = 10;
/** A prefix of this age, as a share of the host's capacity, may have been evicted. */
const OLD_SHARE: f64 = 0.2;
/** Cached tokens reported below this share of those expected count as a miss. */
const MISS_SHARE: f64 = 0.5;
/** Expectations under this many tokens say nothing. */
const TELLING_TOKENS: f64 = 256;
/** A miss shrinks the capacity that is believed by this, a hit lets it grow back by less. */
const SHRINK: f64 = 0.9;
const GROW: f64 = 1.02;
/** From this many samples on, a learned number is settled. */
const SETTLED_SAMPLES: u32 = 64;
const CAPACITY_FACTOR_MIN: f64 = 0.05;

/** Learns from what a request did cost: tokens, lengths, speeds, cache. */
export class Feedback {
  private counter: u32 = 0;

  constructor(private root: Root) {}

  /** Whether to leave this answer out: of what is settled, every fourth answer tells enough. */
  private isSkipped(samples: u32): bool {
    this.counter++;
    return samples > SETTLED_SAMPLES && (this.counter & 3) != 0;
  }

  /** Output tokens of an answer as far as it came: reported, else counted from its events, else as expected. */
  outputTokens(stream: Stream): f64 {
    const usage = stream.usage;
    if (usage) {
      if (usage.completionTokens >= 0) return <f64>usage.completionTokens;
      if (stream.served.eventStream) return <f64>usage.outputEvents;
    }
    return stream.served.complete ? stream.decision.outputTokens : 0;
  }

  /** Learns from a complete, good answer. */
  learn(stream: Stream, now: f64): void {
    const root = this.root;
    const d = stream.decision;
    const usage = stream.usage;
    if (!usage) return;
    if (d.isResponses && usage.idHash != 0 && d.key != 0) {
      root.fleet.responses.note(usage.idHash, d.key);
    }
    const reportedCached = <f64>usage.cachedTokens;
    if (reportedCached >= 0) root.stats.reportedCached.add(<i64>reportedCached);
    if (!root.config.cost.learn) return;
    const reportedPrompt = <f64>usage.promptTokens;
    if (d.complete && d.readable && reportedPrompt > 0) {
      this.learnModel(stream, reportedPrompt, now);
    }
    if (usage.completionTokens >= 0) this.learnOutput(stream, <f64>usage.completionTokens, now);
    this.learnHost(stream, reportedPrompt, reportedCached, now);
  }

  private learnModel(stream: Stream, reported: f64, now: f64): void {
    const d = stream.decision;
    const learned = this.root.fleet.learned;
    const key = ratioKey(d);
    const seen = learned.find(key, now);
    if (seen != 0 && this.isSkipped(Learned.samples(seen))) return;
    const slot = learned.slotFor(key, now);
    this.root.stats.promptError.record(relativeErrorPercent(d.promptTokens, reported));
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const at = learned.open(slot, key, now);
      const samples = Learned.samples(at);
      const known = Learned.bytesPerToken(at);
      const ratio = known > 0 ? known : this.root.config.cost.bytesPerToken;
      const bytesPerToken = learnBytesPerToken(ratio, samples, d.promptBytes, d.fixedTokens, reported);
      Learned.setBytesPerToken(at, bytesPerToken);
      Learned.setSamples(at, samples + 1);
      const completion = stream.usage!.completionTokens;
      if (completion >= 0) noteOutput(Learned.output(at), <f64>completion / <f64>d.answers);
      if (learned.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  private learnOutput(stream: Stream, completion: f64, now: f64): void {
    const d = stream.decision;
    const learned = this.root.fleet.learned;
    const key = outputKey(d);
    const seen = learned.find(key, now);
    if (seen != 0 && this.isSkipped(Learned.samples(seen))) return;
    const slot = learned.slotFor(key, now);
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const at = learned.open(slot, key, now);
      Learned.setSamples(at, Learned.samples(at) + 1);
      noteOutput(Learned.output(at), completion / <f64>d.answers);
      if (learned.commit(slot)) break;
    }
    this.root.stats.outputError.record(relativeErrorPercent(d.outputTokens, completion));
  }

  /** Speeds from the times, capacity from the cached tokens, of a request that went where it was meant to. */
  private learnHost(stream: Stream, reportedPrompt: f64, reportedCached: f64, now: f64): void {
    const root = this.root;
    const served = stream.served;
    const d = stream.decision;
    if (served.fellBack || served.slot < 0 || served.firstByteMs == 0) return;
    const states = root.fleet.states;
    const cost = root.config.cost;
    const before = states.at(served.slot);
    const settled = HostRecord.prefillSamples(before) + HostRecord.decodeSamples(before);
    // A miss always counts: it may be the sign of a flushed cache.
    const isTelling = d.cachedTokens >= TELLING_TOKENS && reportedCached >= 0;
    const missed = isTelling && reportedCached < d.cachedTokens * MISS_SHARE;
    if (!missed && this.isSkipped(settled)) return;
    const output = this.outputTokens(stream);
    const prompt = reportedPrompt > 0 ? reportedPrompt : d.promptTokens;
    const cached = reportedCached >= 0 ? reportedCached : d.cachedTokens;
    const uncached = Math.max(prompt - cached, 0);
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const at = states.open(served.slot);
      const prefillFactor = factorOr1(HostRecord.prefillFactor(at));
      const decodeFactor = factorOr1(HostRecord.decodeFactor(at));
      const stepMs = expectedStepMs(root.config, d.batch, decodeFactor);
      const ownPrefillMs = uncached * cost.prefillMsPerToken * prefillFactor;
      const ttftMs = served.firstByteMs - served.sentMs;
      const firstMs = d.waitMs + ownPrefillMs + stepMs;
      let decodeMs = Math.max(output - 1, 0) * stepMs;
      if (served.eventStream) {
        // The share of the time that is prefill on this host says how much the sample tells of its speed.
        const trust = ownPrefillMs / firstMs;
        const samples = HostRecord.prefillSamples(at);
        const learned = learnFactor(
          HostRecord.prefillFactor(at),
          samples,
          Math.max(ttftMs - stepMs, 0.1),
          Math.max(firstMs - stepMs, 0.1),
          uncached >= 64 ? trust : 0,
        );
        HostRecord.setPrefillFactor(at, learned);
        if (uncached >= 64) HostRecord.setPrefillSamples(at, samples + 1);
        root.stats.ttftError.record(relativeErrorPercent(firstMs, ttftMs));
        if (output >= 4) {
          const seen = HostRecord.decodeSamples(at);
          const observed = now - served.firstByteMs;
          HostRecord.setDecodeFactor(
            at,
            learnFactor(HostRecord.decodeFactor(at), seen, observed, decodeMs, 1),
          );
          HostRecord.setDecodeSamples(at, seen + 1);
        }
      } else {
        // One time for both: it corrects each by its share.
        const allMs = firstMs + decodeMs;
        decodeMs += stepMs;
        const pre = HostRecord.prefillSamples(at);
        const dec = HostRecord.decodeSamples(at);
        HostRecord.setPrefillFactor(
          at,
          learnFactor(HostRecord.prefillFactor(at), pre, ttftMs, allMs, ownPrefillMs / allMs),
        );
        HostRecord.setDecodeFactor(
          at,
          learnFactor(HostRecord.decodeFactor(at), dec, ttftMs, allMs, decodeMs / allMs),
        );
        HostRecord.setPrefillSamples(at, pre + 1);
        HostRecord.setDecodeSamples(at, dec + 1);
      }
      if (reportedCached >= 0) {
        const clock = root.fleet.inFlight.clockTokens(served.slot);
        this.learnCapacity(at, d, reportedCached, clock);
      }
      if (states.commit(served.slot)) return;
    }
    noteCasGaveUp();
  }

  /**
   * Corrects what is believed of the host's cache. An old prefix that is gone: the cache is smaller than believed. A young one:
   * it was flushed, and several in a row void all that was noted. Where flushes don't explain the misses either (no hit
   * follows), ever more misses are asked for: such reports have another meaning.
   */
  private learnCapacity(at: usize, d: Decision, reported: f64, clock: f64): void {
    if (reported > 0) HostRecord.setReportsHits(at, true);
    if (d.cachedTokens < TELLING_TOKENS || !HostRecord.reportsHits(at)) return;
    const factor = factorOr1(HostRecord.capacityFactor(at));
    if (reported >= d.cachedTokens * MISS_SHARE) {
      HostRecord.setMisses(at, 0);
      HostRecord.setFlushes(at, 0);
      HostRecord.setCapacityFactor(at, Math.min(factor * GROW, 1));
    } else if (d.cachedAge > OLD_SHARE) {
      HostRecord.setCapacityFactor(at, Math.max(factor * SHRINK, CAPACITY_FACTOR_MIN));
    } else {
      const flushes = HostRecord.flushes(at);
      const misses = HostRecord.misses(at) + 1;
      HostRecord.setMisses(at, misses);
      if (misses < FLUSHED_AFTER << min(<u32>flushes, FLUSH_DOUBLINGS)) return;
      HostRecord.setFlushedClock(at, clock);
      HostRecord.setFlushes(at, flushes + 1);
      HostRecord.setMisses(at, 0);
    }
  }
}

/** |predicted − actual| / actual in whole percent, at most 1000. */
function relativeErrorPercent(predicted: f64, actual: f64): u64 {
  if (!(actual > 0)) return 0;
  return <u64>Math.min(Math.abs(predicted - actual) / actual * 100, 1000);
}
