import { Config } from "../../config/config";
import { SAME_STEP_MS, factorOr1, learnFactor, stepMs } from "../../cost/speed";
import { HostRecord } from "../../state/hostrecord";

/** Prefills of fewer tokens than this say nothing of the speed. */
const TELLING_PREFILL_TOKENS: f64 = 64;
/** Samples that tell less of the prefill speed than this don't count as one. */
const TELLING_TRUST: f64 = 0.4;
/** Answers of fewer tokens than this say nothing of the time per token. */
const TELLING_OUTPUT_TOKENS: f64 = 4;
/** One time for prefill and decoding together moves both factors alike for so many answers, then each by its share. */
const TOGETHER_SAMPLES: u32 = 4;
/** Times that differ from the expected ones by this ratio are news. */
const ODD_RATIO: f64 = 1.3;
/** A duration of nothing, ms. */
const LEAST_MS: f64 = 0.1;

/** How long an answer took, and what its host had to do meanwhile. One a root, filled for each answer. */
export class Timing {
  /** From sending to the first byte, and from there to the end, ms. */
  ttftMs: f64 = 0;
  restMs: f64 = 0;
  /** From the first token of the request before it at the host, if that came after this one was sent; else NaN, ms. */
  sinceLastMs: f64 = NaN;
  /** Wait before the prefill, as it was expected with a prefill factor that may have been another, ms. */
  waitMs: f64 = 0;
  waitFactor: f64 = 1;
  /** Requests that had no first token yet when this one was sent: the wait for them is the least certain part. */
  waitingBefore: f64 = 0;
  /** Prompt tokens of others that were sent to the host between this request and its first token. */
  behindTokens: f64 = 0;
  /** Prompt tokens that were not cached, and tokens of the answer. */
  uncachedTokens: f64 = 0;
  outputTokens: f64 = 0;
  /** Sequences at the host when the request was sent, and beside it while it decoded, on average. */
  batchBefore: f64 = 0;
  batch: f64 = 0;
  /** Prompt tokens of others that the host prefilled between this answer's tokens. */
  othersTokens: f64 = 0;

  /** Expected time to the first token by the record's factors, ms. */
  expectedTtftMs(config: Config, record: HostRecord): f64 {
    const ownMs = this.prefillMs(config, record, this.uncachedTokens);
    return this.queuedMs(record) + ownMs + this.firstStepMs(config, record);
  }

  /** Time to the first token as it was expected when the host was chosen, with the prompt's own prefill as expected then, ms. */
  promisedTtftMs(config: Config, record: HostRecord, prefillMs: f64): f64 {
    return this.waitMs + prefillMs + this.firstStepMs(config, record);
  }

  /** Whether the whole answer took quite another time than the record's factors say. */
  isOdd(config: Config, record: HostRecord): bool {
    const decodeMs = this.outputTokens * this.stepMs(config, record);
    const othersMs = this.prefillMs(config, record, this.othersTokens);
    const expectedMs = this.expectedTtftMs(config, record) + decodeMs + othersMs;
    const allMs = this.ttftMs + this.restMs;
    return allMs > expectedMs * ODD_RATIO || expectedMs > allMs * ODD_RATIO;
  }

  /** What the first token of an event stream says of a host of which nothing is known yet. Changes the record. */
  learnFirst(config: Config, record: HostRecord): void {
    const samples = record.prefillSamples;
    this.learnTtft(config, record);
    // The end of the answer knows better what the prompt was.
    record.prefillSamples = samples;
  }

  /** An event stream: its first byte is the first token, so both speeds show. Changes the record. */
  learnStream(config: Config, record: HostRecord): void {
    this.learnRest(config, record);
    this.learnTtft(config, record);
  }

  private learnRest(config: Config, record: HostRecord): void {
    const stepMs = this.stepMs(config, record);
    if (this.outputTokens < TELLING_OUTPUT_TOKENS) return;
    const decodeMs = (this.outputTokens - 1) * stepMs;
    const othersMs = this.prefillMs(config, record, this.othersTokens);
    this.learnDecode(record, this.restMs, decodeMs + othersMs, decodeMs / (decodeMs + othersMs));
  }

  /** An answer in one piece: its one time speaks of both speeds. Changes the record. */
  learnWhole(config: Config, record: HostRecord): void {
    const ownMs = this.prefillMs(config, record, this.uncachedTokens);
    const decodeMs = Math.max(this.outputTokens, 1) * this.stepMs(config, record);
    const othersMs = this.prefillMs(config, record, this.othersTokens);
    const surelyMs = ownMs + decodeMs + othersMs;
    const allMs = this.queuedMs(record) + surelyMs;
    // The wait is the least certain part.
    const certain = surelyMs / allMs;
    const together = record.decodeSamples < TOGETHER_SAMPLES;
    const more = Math.max(ownMs, decodeMs);
    this.learnPrefill(record, this.ttftMs, allMs, (certain * (together ? more : ownMs)) / more);
    this.learnDecode(record, this.ttftMs, allMs, (certain * (together ? more : decodeMs)) / more);
  }

  private learnTtft(config: Config, record: HostRecord): void {
    if (this.uncachedTokens < TELLING_PREFILL_TOKENS) return;
    const stepMs = this.firstStepMs(config, record);
    const ownMs = this.prefillMs(config, record, this.uncachedTokens);
    // What came later may have shared the step of this prefill.
    const behindMs = this.prefillMs(config, record, this.behindTokens);
    let observedMs = this.sinceLastMs;
    let expectedMs = ownMs;
    let trust = ownMs / (ownMs + behindMs + stepMs);
    if (isNaN(observedMs)) {
      const queuedMs = this.queuedMs(record);
      observedMs = this.ttftMs;
      expectedMs += queuedMs;
      // The share of the time that is own prefill says how much the sample tells.
      trust = ownMs / (expectedMs + behindMs + stepMs) / (1 + this.waitingBefore);
    } else if (observedMs < SAME_STEP_MS) {
      // It shared the step of the one before, and that one told.
      return;
    }
    // While nothing is known of its steps either, the host is as slow at both.
    if (record.decodeSamples == 0) {
      this.learnPrefill(record, observedMs, expectedMs + stepMs, trust);
    } else {
      this.learnPrefill(record, Math.max(observedMs - stepMs, LEAST_MS), expectedMs, trust);
    }
  }

  private learnPrefill(record: HostRecord, observedMs: f64, expectedMs: f64, trust: f64): void {
    const samples = record.prefillSamples;
    const factor = learnFactor(record.prefillFactor, samples, observedMs, expectedMs, trust);
    record.prefillFactor = factor;
    // What tells little leaves its full weight to what tells more.
    if (trust >= TELLING_TRUST) record.prefillSamples = samples + 1;
  }

  private learnDecode(record: HostRecord, observedMs: f64, expectedMs: f64, trust: f64): void {
    const samples = record.decodeSamples;
    const factor = learnFactor(record.decodeFactor, samples, observedMs, expectedMs, trust);
    record.decodeFactor = factor;
    record.decodeSamples = samples + 1;
  }

  private prefillMs(config: Config, record: HostRecord, tokens: f64): f64 {
    return tokens * config.cost.prefillMsPerToken * factorOr1(record.prefillFactor);
  }

  /** The expected wait, by the factor that is known now, ms. */
  private queuedMs(record: HostRecord): f64 {
    return (this.waitMs * factorOr1(record.prefillFactor)) / this.waitFactor;
  }

  /** The step that makes the first token, and half of the one that is under way in a host that isn't idle, ms. */
  private firstStepMs(config: Config, record: HostRecord): f64 {
    const factor = factorOr1(record.decodeFactor);
    const stepMs = expectedStepMs(config, this.batchBefore, factor);
    return this.batchBefore >= 1 ? stepMs * 1.5 : stepMs;
  }

  private stepMs(config: Config, record: HostRecord): f64 {
    return expectedStepMs(config, this.batch, factorOr1(record.decodeFactor));
  }
}

/** Expected ms per output token beside `batch` others. */
function expectedStepMs(config: Config, batch: f64, factor: f64): f64 {
  return stepMs(config.cost.decodeStepMs, config.cost.decodeMsPerSequence, batch + 1, factor);
}
