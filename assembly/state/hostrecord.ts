import { MODELS_END } from "./hostmodels";
import { RESIDENCY_BYTES, empty } from "./residency";

/**
 * What all workers know of one server: its last report, its health, and what was learned of its speed.
 *
 * ```
 *   0 version 4 · generation 1 · reports hits 1 · flushes 1 · 1     8 sample time ms 8
 *  16 running 4 · waiting 4 · kv 4 · gpu 4 · capacity tokens 4 · 4          (f32, NaN unknown)
 *  40 start time s 8 · prompt tokens 8 · good scrape ms 8
 *  64 failures 2 · cause 1 · 1 · ejections 2 · declines 2 · ejected until ms 8 · trial since ms 8
 *  88 prefill factor 4 · decode factor 4 · prefill samples 4 · decode samples 4 · capacity factor 4 · misses 4
 * 112 joined ms 8 · models 2 · 2 · pushed back until s 4 · flushed clock 8 · gpu sample time ms 8
 * 144 learned ms 8 · others running 4 · waiting 4 · the same of the report before 4 · 4 · models (hostmodels.ts)
 *     then residency (residency.ts)
 * ```
 */
const RESIDENCY: i32 = (MODELS_END + 7) & ~7;
export const HOST_RECORD_BYTES: i32 = RESIDENCY + RESIDENCY_BYTES;

/** Why requests to a server failed last. */
export const enum FailureCause {
  None = 0,
  /** No connection, or reset before an answer: a good scrape shows that it is over. */
  Connect = 1,
  /** It answered 5xx: its metrics page says nothing about that. */
  Answer = 2,
  /** It broke an answer off: neither its metrics page nor the beginning of another answer says anything about that. */
  BrokenOff = 3,
}

/** Field access on one record, wherever its bytes are. */
@unmanaged
export class HostRecord {
  @inline
  static generation(at: usize): u8 {
    return load<u8>(at + 4);
  }
  @inline
  static setGeneration(at: usize, v: u8): void {
    store<u8>(at + 4, v);
  }

  /** Whether the server ever reported cached tokens: only then does a report of none mean a miss. */
  @inline
  static reportsHits(at: usize): bool {
    return load<u8>(at + 5) != 0;
  }
  @inline
  static setReportsHits(at: usize, v: bool): void {
    store<u8>(at + 5, v ? 1 : 0);
  }

  /** Flushes in a row without a hit between them. */
  @inline
  static flushes(at: usize): i32 {
    return <i32>load<u8>(at + 6);
  }
  @inline
  static setFlushes(at: usize, v: i32): void {
    store<u8>(at + 6, <u8>min(v, 255));
  }

  /** When the report was true, ms; 0 for none. */
  @inline
  static sampleMs(at: usize): f64 {
    return load<f64>(at + 8);
  }
  @inline
  static setSampleMs(at: usize, v: f64): void {
    store<f64>(at + 8, v);
  }
  /** Requests in the running batch; NaN unknown. */
  @inline
  static running(at: usize): f64 {
    return <f64>load<f32>(at + 16);
  }
  @inline
  static setRunning(at: usize, v: f64): void {
    store<f32>(at + 16, <f32>v);
  }
  /** Requests queued in the server; NaN unknown. */
  @inline
  static waiting(at: usize): f64 {
    return <f64>load<f32>(at + 20);
  }
  @inline
  static setWaiting(at: usize, v: f64): void {
    store<f32>(at + 20, <f32>v);
  }
  /** Share of the KV cache in use, 0..1; NaN unknown. */
  @inline
  static kvUsage(at: usize): f64 {
    return <f64>load<f32>(at + 24);
  }
  @inline
  static setKvUsage(at: usize, v: f64): void {
    store<f32>(at + 24, <f32>v);
  }
  /** GPU utilisation, 0..1; NaN unknown. */
  @inline
  static gpuUtilization(at: usize): f64 {
    return <f64>load<f32>(at + 28);
  }
  @inline
  static setGpuUtilization(at: usize, v: f64): void {
    store<f32>(at + 28, <f32>v);
  }
  /** Cache capacity as the server states it, tokens; NaN unknown. */
  @inline
  static capacityTokens(at: usize): f64 {
    return <f64>load<f32>(at + 32);
  }
  @inline
  static setCapacityTokens(at: usize, v: f64): void {
    store<f32>(at + 32, <f32>v);
  }
  /** Process start, seconds since 1970; NaN or 0 unknown. */
  @inline
  static startTimeS(at: usize): f64 {
    return load<f64>(at + 40);
  }
  @inline
  static setStartTimeS(at: usize, v: f64): void {
    store<f64>(at + 40, v);
  }
  /** Prompt token counter, by whose fall a restart is noticed; NaN or 0 unknown. */
  @inline
  static promptTokens(at: usize): f64 {
    return load<f64>(at + 48);
  }
  @inline
  static setPromptTokens(at: usize, v: f64): void {
    store<f64>(at + 48, v);
  }
  /** When a scrape of the server succeeded last, ms. */
  @inline
  static scrapedMs(at: usize): f64 {
    return load<f64>(at + 56);
  }
  @inline
  static setScrapedMs(at: usize, v: f64): void {
    store<f64>(at + 56, v);
  }

  /** Failed requests in a row. */
  @inline
  static failures(at: usize): i32 {
    return <i32>load<u16>(at + 64);
  }
  @inline
  static setFailures(at: usize, v: i32): void {
    store<u16>(at + 64, <u16>min(v, 65535));
  }
  @inline
  static cause(at: usize): u8 {
    return load<u8>(at + 66);
  }
  @inline
  static setCause(at: usize, v: u8): void {
    store<u8>(at + 66, v);
  }
  /** Times set aside in a row: the back-off doubles with each. */
  @inline
  static ejections(at: usize): i32 {
    return <i32>load<u16>(at + 68);
  }
  @inline
  static setEjections(at: usize, v: i32): void {
    store<u16>(at + 68, <u16>min(v, 65535));
  }
  /** Times in a row that it took nothing more, while it was at work, and nothing else came from it. */
  @inline
  static declines(at: usize): i32 {
    return <i32>load<u16>(at + 70);
  }
  @inline
  static setDeclines(at: usize, v: i32): void {
    store<u16>(at + 70, <u16>min(v, 65535));
  }
  /** Set aside until then, ms; 0 for not. */
  @inline
  static ejectedUntilMs(at: usize): f64 {
    return load<f64>(at + 72);
  }
  @inline
  static setEjectedUntilMs(at: usize, v: f64): void {
    store<f64>(at + 72, v);
  }
  /** The one trial request after a back-off was sent then, ms; 0 for none under way. */
  @inline
  static trialMs(at: usize): f64 {
    return load<f64>(at + 80);
  }
  @inline
  static setTrialMs(at: usize, v: f64): void {
    store<f64>(at + 80, v);
  }

  /** Learned prefill time over the configured prior; 0 while nothing was learned (read as 1). */
  @inline
  static prefillFactor(at: usize): f64 {
    return <f64>load<f32>(at + 88);
  }
  @inline
  static setPrefillFactor(at: usize, v: f64): void {
    store<f32>(at + 88, <f32>v);
  }
  /** Learned time per output token over the configured prior; 0 while nothing was learned (read as 1). */
  @inline
  static decodeFactor(at: usize): f64 {
    return <f64>load<f32>(at + 92);
  }
  @inline
  static setDecodeFactor(at: usize, v: f64): void {
    store<f32>(at + 92, <f32>v);
  }
  @inline
  static prefillSamples(at: usize): u32 {
    return load<u32>(at + 96);
  }
  @inline
  static setPrefillSamples(at: usize, v: u32): void {
    store<u32>(at + 96, v);
  }
  @inline
  static decodeSamples(at: usize): u32 {
    return load<u32>(at + 100);
  }
  @inline
  static setDecodeSamples(at: usize, v: u32): void {
    store<u32>(at + 100, v);
  }
  /** When an answer last taught something of the speeds, ms. */
  @inline
  static learnedMs(at: usize): f64 {
    return load<f64>(at + 144);
  }
  @inline
  static setLearnedMs(at: usize, v: f64): void {
    store<f64>(at + 144, v);
  }
  /** Learned cache capacity over the stated or configured one; 0 read as 1. */
  @inline
  static capacityFactor(at: usize): f64 {
    return <f64>load<f32>(at + 104);
  }
  @inline
  static setCapacityFactor(at: usize, v: f64): void {
    store<f32>(at + 104, <f32>v);
  }
  /** Young prefixes in a row that turned out not to be cached: a sign of a flushed cache. */
  @inline
  static misses(at: usize): u32 {
    return load<u32>(at + 108);
  }
  @inline
  static setMisses(at: usize, v: u32): void {
    store<u32>(at + 108, v);
  }

  /** When the server joined or restarted, ms. */
  @inline
  static joinedMs(at: usize): f64 {
    return load<f64>(at + 112);
  }
  @inline
  static setJoinedMs(at: usize, v: f64): void {
    store<f64>(at + 112, v);
  }
  /** Token clock at which the cache was found empty: what was noted before is void. */
  @inline
  static flushedClock(at: usize): f64 {
    return load<f64>(at + 128);
  }
  /** Its cache was found empty at a token clock. */
  static flush(at: usize, clock: f64): void {
    store<f64>(at + 128, clock);
    empty(HostRecord.residency(at), clock);
  }
  /** When the GPU's utilisation was true, ms: it may come from another page than the engine's signals. */
  @inline
  static gpuSampleMs(at: usize): f64 {
    return load<f64>(at + 136);
  }
  @inline
  static setGpuSampleMs(at: usize, v: f64): void {
    store<f64>(at + 136, v);
  }

  /** Requests of others there: reported beyond own in flight, in the last report and the one before, whichever is less. NaN unknown. */
  @inline
  static othersRunning(at: usize): f64 {
    return Math.min(<f64>load<f32>(at + 152), <f64>load<f32>(at + 160));
  }
  @inline
  static othersWaiting(at: usize): f64 {
    return Math.min(<f64>load<f32>(at + 156), <f64>load<f32>(at + 164));
  }
  /** Notes what the next report shows beyond own in flight. */
  static noteOthers(at: usize, running: f64, waiting: f64): void {
    const first = isNaN(load<f32>(at + 152)) || HostRecord.sampleMs(at) == 0;
    store<f32>(at + 160, first ? <f32>running : load<f32>(at + 152));
    store<f32>(at + 164, first ? <f32>waiting : load<f32>(at + 156));
    store<f32>(at + 152, <f32>running);
    store<f32>(at + 156, <f32>waiting);
  }
  /** It asked to be sent nothing until then (429 or 503 with `retry-after`): seconds of our clock, 0 for not. */
  @inline
  static pushedBackUntilS(at: usize): u32 {
    return load<u32>(at + 124);
  }
  @inline
  static setPushedBackUntilS(at: usize, v: u32): void {
    store<u32>(at + 124, v);
  }

  /** When what its cache holds was used last: residency.ts. */
  @inline
  static residency(at: usize): usize {
    return at + RESIDENCY;
  }
}
