import { factorOr1 } from "../../cost/speed";
import { noteOutput } from "../../cost/output";
import { learnBytesPerToken } from "../../cost/tokens";
import { HostRecord } from "../../state/hostrecord";
import { CAS_ATTEMPTS, MAX_HOSTS } from "../../state/layout";
import { Learned } from "../../state/learned";
import { noteCasGaveUp } from "../../state/record";
import { outputKey, ratioKey } from "../request/identity";
import { Decision } from "../choice/decision";
import { Core } from "../core";
import { FADE_MS } from "../fleet/speeds";
import { Stream } from "../stream";
import { Timing } from "./timing";

/** Young prefixes in a row that weren't cached: the cache was flushed. Doubled after each flush that didn't explain them. */
const FLUSHED_AFTER: u32 = 3;
const FLUSH_DOUBLINGS: u32 = 10;
/** A prefix of this age, as a share of the host's capacity, may have been evicted. */
const OLD_SHARE: f64 = 0.2;
/** One up to this age is there unless the cache was flushed; between the two a miss says nothing for sure. */
const YOUNG_SHARE: f64 = 0.05;
/** While running requests hold this share of the cache, what is left turns over so fast that young prefixes go too. */
const CROWDED_KV: f64 = 0.5;
/** Cached tokens reported below this share of those expected count as a miss. */
const MISS_SHARE: f64 = 0.5;
/** Expectations under this many tokens say nothing. */
const TELLING_TOKENS: f64 = 256;
/** A miss shrinks the capacity that is believed by this, a hit lets it grow back by less. */
const SHRINK: f64 = 0.98;
const GROW: f64 = 1.02;
/** Times that aren't as expected are news at most once in this time per host, ms: one step of a server, about. */
const NEWS_GAP_MS: f64 = 10;
/** From this many samples on, a learned number is settled. */
const SETTLED_SAMPLES: u32 = 64;
/** … and changed at most once in this time by a worker, ms: reading and writing a shared value costs as much as a decision. */
const SETTLED_GAP_MS: f64 = 2;
/** What was learned long ago weighs as so many answers: less, and one odd answer would spoil it. */
const FADED_SAMPLES: u32 = 4;
const CAPACITY_FACTOR_MIN: f64 = 0.25;

/** Learns from what a request did cost: tokens, lengths, speeds, cache. */
export class Feedback {
  private counter: u32 = 0;
  private timing: Timing = new Timing();
  /**
   * When this worker saw the last first token of each host, ms. Others' isn't known: when their queues were as long as they say
   * (`newest`) is often when something was sent there, and a prefill counted from that is far too short. One such sample made
   * a server seem 2.4 times as fast, and prompts waited for it (conversation at 0.9, two gateways, seeds 2, 5, 6: TTFT p99
   * 7,989 ms instead of 5,760).
   */
  private lastFirstMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);

  constructor(private core: Core) {}

  /** Whether to leave this answer out: of what is settled, every fourth answer tells enough, a little after the last. */
  private isSkipped(samples: u32, learnedMs: f64, now: f64): bool {
    // A plain count would fall in step with hosts that take turns.
    this.counter = this.counter * 1664525 + 1013904223;
    if (samples <= SETTLED_SAMPLES) return false;
    return this.counter >>> 30 != 0 || now - learnedMs < SETTLED_GAP_MS;
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
    const core = this.core;
    const d = stream.decision;
    const usage = stream.usage;
    if (!usage) return;
    const reportedCached = <f64>usage.cachedTokens;
    if (reportedCached >= 0) core.stats.reportedCached.note(<i64>reportedCached);
    if (!core.config.cost.learn) return;
    const reportedPrompt = <f64>usage.promptTokens;
    if (d.complete && d.readable && reportedPrompt > 0) {
      this.learnModel(stream, reportedPrompt, now);
    }
    // Embeddings and the like generate nothing, and say nothing of it.
    const isCounted =
      usage.completionTokens >= 0 || (reportedPrompt > 0 && !stream.served.eventStream);
    if (isCounted) this.learnOutput(stream, <f64>max<i64>(usage.completionTokens, 0), now);
    this.learnHost(stream, reportedPrompt, reportedCached, now);
  }

  private learnModel(stream: Stream, reported: f64, now: f64): void {
    const d = stream.decision;
    const learned = this.core.fleet.learned;
    const key = ratioKey(d.modelHash, d.scriptBand);
    const seen = learned.find(key, now);
    if (seen != 0 && this.isSkipped(Learned.samples(seen), Learned.usedMs(seen), now)) return;
    const slot = learned.slotFor(key, now);
    this.core.stats.promptPrediction.note(d.promptTokens, reported);
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = learned.open(slot, key, now);
      const samples = Learned.samples(record);
      const known = Learned.bytesPerToken(record);
      const ratio = known > 0 ? known : this.core.config.cost.bytesPerToken;
      const bytesPerToken = learnBytesPerToken(
        ratio,
        samples,
        d.promptBytes,
        d.fixedTokens,
        reported,
      );
      Learned.setBytesPerToken(record, bytesPerToken);
      Learned.setSamples(record, samples + 1);
      const completion = stream.usage!.completionTokens;
      if (completion >= 0) noteOutput(Learned.output(record), <f64>completion / <f64>d.answers);
      if (learned.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  private learnOutput(stream: Stream, completion: f64, now: f64): void {
    const d = stream.decision;
    const learned = this.core.fleet.learned;
    const key = outputKey(d);
    const seen = learned.find(key, now);
    if (seen != 0 && this.isSkipped(Learned.samples(seen), Learned.usedMs(seen), now)) return;
    const slot = learned.slotFor(key, now);
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = learned.open(slot, key, now);
      Learned.setSamples(record, Learned.samples(record) + 1);
      noteOutput(Learned.output(record), completion / <f64>d.answers);
      if (learned.commit(slot)) break;
    }
    this.core.stats.outputPrediction.note(d.outputTokens, completion);
  }

  /** Speeds from the times, capacity from the cached tokens, of a request that went where it was meant to. */
  private learnHost(stream: Stream, reportedPrompt: f64, reportedCached: f64, now: f64): void {
    const core = this.core;
    const served = stream.served;
    const d = stream.decision;
    if (served.fellBack || served.slot < 0 || served.firstTokenMs == 0) return;
    const states = core.fleet.states;
    const before = states.at(served.slot);
    const settled = before.prefillSamples + before.decodeSamples;
    const output = this.outputTokens(stream);
    const prompt = reportedPrompt > 0 ? reportedPrompt : d.promptTokens;
    const cached = reportedCached >= 0 ? reportedCached : d.cachedTokens;
    const t = this.timing;
    t.ttftMs = served.firstTokenMs - served.sentMs;
    t.restMs = now - served.firstTokenMs;
    t.uncachedTokens = Math.max(prompt - cached, 0);
    t.outputTokens = output;
    this.noteBefore(t, stream);
    this.noteMeanwhile(t, stream, now);
    // A miss always counts, for it may be the sign of a flushed cache; and so does a time that isn't as expected.
    const isTelling = d.cachedTokens >= TELLING_TOKENS && reportedCached >= 0;
    const missed = isTelling && reportedCached < d.cachedTokens * MISS_SHARE;
    const isNews = t.isOdd(core.config, before) && now - before.learnedMs >= NEWS_GAP_MS;
    const isSkipped = this.isSkipped(settled, before.learnedMs, now);
    // Noted of a fair sample: odd answers are all learned from, and would make misses look larger than they are.
    if (served.eventStream && !isSkipped) {
      const expectedMs = t.promisedTtftMs(core.config, before, d.prefillMs);
      core.stats.ttftPrediction.note(expectedMs, t.ttftMs);
    }
    if (!missed && !isNews && isSkipped) return;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = states.open(served.slot);
      if (now - record.learnedMs > FADE_MS) this.fade(record, served.slot);
      if (served.eventStream) t.learnStream(core.config, record);
      else t.learnWhole(core.config, record);
      record.learnedMs = now;
      if (reportedCached >= 0) {
        const clock = core.fleet.inFlight.clockTokens(served.slot);
        this.learnCapacity(record, d, reportedCached, clock);
      }
      if (states.commit(served.slot)) return;
    }
    noteCasGaveUp();
  }

  /** What was learned long ago: what a choice makes of it by now is what is believed, on the word of a few answers. */
  private fade(record: HostRecord, slot: i32): void {
    const speeds = this.core.fleet.speeds;
    const prefillSamples = record.prefillSamples;
    const decodeSamples = record.decodeSamples;
    if (prefillSamples > 0) record.prefillFactor = speeds.prefill[slot];
    if (decodeSamples > 0) record.decodeFactor = speeds.decode[slot];
    record.prefillSamples = min(prefillSamples, FADED_SAMPLES);
    record.decodeSamples = min(decodeSamples, FADED_SAMPLES);
  }

  /** The first token of an answer has come. */
  first(stream: Stream, now: f64): void {
    const served = stream.served;
    if (served.eventStream) {
      const last = unchecked(this.lastFirstMs[served.slot]);
      if (last > served.sentMs && last <= now) served.sinceLastMs = now - last;
      unchecked((this.lastFirstMs[served.slot] = now));
      this.glimpse(stream, now);
    }
  }

  /** At the first token of an event stream: a host of which nothing is known yet shows its speed, long before the answer ends. */
  private glimpse(stream: Stream, now: f64): void {
    const core = this.core;
    const served = stream.served;
    const d = stream.decision;
    if (!core.config.cost.learn || !d.complete || !d.readable || d.cachedTokens > 0) return;
    if (served.fellBack || served.status != 200) return;
    const states = core.fleet.states;
    if (states.at(served.slot).prefillSamples > 0) return;
    const t = this.timing;
    t.ttftMs = now - served.sentMs;
    t.uncachedTokens = d.promptTokens;
    this.noteBefore(t, stream);
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = states.open(served.slot);
      if (record.prefillSamples > 0) return;
      t.learnFirst(core.config, record);
      record.learnedMs = now;
      if (states.commit(served.slot)) return;
    }
    noteCasGaveUp();
  }

  /** What was expected before the prefill, and what the host got to do until the first token. */
  private noteBefore(t: Timing, stream: Stream): void {
    const d = stream.decision;
    t.waitMs = d.waitMs;
    t.batchBefore = d.batch;
    t.waitingBefore = stream.served.waitingBefore;
    t.sinceLastMs = stream.served.sinceLastMs;
    const plainMs = (d.promptTokens - d.cachedTokens) * this.core.config.cost.prefillMsPerToken;
    t.waitFactor = plainMs > 0 && d.prefillMs > 0 ? d.prefillMs / plainMs : 1;
    t.behindTokens = Math.max(stream.served.clockAtFirst - stream.served.clockAtSent, 0);
  }

  /** What the host did for others while it decoded this answer: sequences beside it, and prompts that came in between. */
  private noteMeanwhile(t: Timing, stream: Stream, now: f64): void {
    const served = stream.served;
    const fleet = this.core.fleet;
    const record = fleet.states.at(served.slot);
    const inFlight = fleet.inFlight;
    // An answer in one piece doesn't show where its decoding began, nor do those of others beside it.
    const isWhole = !served.eventStream;
    const before = isWhole ? stream.decision.batch : served.batchAtFirst;
    const after = isWhole ? inFlight.total(served.slot) : inFlight.totalDecoding(served.slot);
    const own = (before + <f64>after) / 2;
    const reported = record.running * this.core.decider.view.freshness(record, now);
    t.batch = reported > own ? reported : own;
    // The clock counts prompts as they are sent, and answers as they end: in steady state as many tokens as the batch made.
    const fromClock = isWhole ? served.clockAtSent : served.clockAtFirst;
    const inserted = inFlight.clockTokens(served.slot) - fromClock - t.outputTokens;
    t.othersTokens = Math.max(inserted - own * t.outputTokens, 0);
  }

  /**
   * Corrects what is believed of the host's cache. An old prefix that is gone: the cache is smaller than believed. A young one:
   * it was flushed, and several in a row void all that was noted. Where flushes don't explain the misses either (no hit
   * follows), ever more misses are asked for: such reports have another meaning.
   */
  private learnCapacity(record: HostRecord, d: Decision, reported: f64, clock: f64): void {
    if (reported > 0) record.reportsHits = true;
    if (d.cachedTokens < TELLING_TOKENS || !record.reportsHits) return;
    const factor = factorOr1(record.capacityFactor);
    if (reported >= d.cachedTokens * MISS_SHARE) {
      record.misses = 0;
      record.flushes = 0;
      record.capacityFactor = Math.min(factor * GROW, 1);
    } else if (d.cachedAge > OLD_SHARE) {
      record.capacityFactor = Math.max(factor * SHRINK, CAPACITY_FACTOR_MIN);
    } else if (d.cachedAge < YOUNG_SHARE && !(record.kvUsage > CROWDED_KV)) {
      const flushes = record.flushes;
      const misses = record.misses + 1;
      record.misses = misses;
      if (misses < FLUSHED_AFTER << min(<u32>flushes, FLUSH_DOUBLINGS)) return;
      record.flush(clock);
      record.flushes = flushes + 1;
      record.misses = 0;
    }
  }
}
