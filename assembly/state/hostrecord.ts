import { HostModels, MODELS_BYTES } from "./hostmodels";
import { RESIDENCY_BYTES, empty } from "./residency";

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

/**
 * What all workers know of one server: its last report, its health, and what was learned of its speed. A view of bytes, as they
 * are in shared data: `changetype<HostRecord>(address)`. The names of its models (hostmodels.ts) and what its cache holds
 * (residency.ts) follow the fields.
 */
@unmanaged
export class HostRecord {
  version: u32;
  /** Generation of the slot: that of another one belongs to a server that is gone. */
  generation: u8;
  /** Whether the server ever reported cached tokens: only then does a report of none mean a miss. */
  reportsHits: bool;
  /** Why requests failed last: `FailureCause`. */
  cause: u8;

  /** When the report was true, ms; 0 for none. */
  sampleMs: f64;
  /** Requests in the running batch; NaN unknown. */
  running: f64;
  /** Requests queued in the server; NaN unknown. */
  waiting: f64;
  /** Share of the KV cache in use, 0..1; NaN unknown. */
  kvUsage: f64;
  /** GPU utilisation, 0..1; NaN unknown. */
  gpuUtilization: f64;
  /** When the GPU's utilisation was true, ms: it may come from another page than the engine's signals. */
  gpuSampleMs: f64;
  /** Cache capacity as the server states it, tokens; NaN unknown. */
  capacityTokens: f64;
  /** Process start, seconds since 1970; NaN or 0 unknown. */
  startTimeS: f64;
  /** Prompt token counter, by whose fall a restart is noticed; NaN or 0 unknown. */
  promptTokens: f64;
  /** Prompt tokens that it had in prefill at its last report, by its counters; NaN unknown. */
  backlogTokens: f64;
  /** What those counters differ by where it has none. */
  private idleDifference: f64;
  /** Prefill that this Envoy and the gateways that it hears had there then, ms. */
  knownMs: f64;
  /** Since when its reports of work have said the same, in every figure, ms by their own time; 0 while they don't. */
  sameSinceMs: f64;
  /** Hash of what the last report said. */
  reportMark: u32;
  /** When a scrape of the server succeeded last, ms. */
  scrapedMs: f64;
  /** Requests reported beyond own in flight, in the last report and in the one before; NaN unknown. */
  private lastRunning: f64;
  private lastWaiting: f64;
  private earlierRunning: f64;
  private earlierWaiting: f64;

  /** Failed requests in a row. */
  failures: i32;
  /** Times set aside in a row: the back-off doubles with each. */
  ejections: i32;
  /** Times in a row that it took nothing more, while it was at work, and nothing else came from it. */
  declines: i32;
  /** It asked to be sent nothing until then (429 or 503 with `retry-after`): seconds of our clock, 0 for not. */
  pushedBackUntilS: u32;
  /** Set aside until then, ms; 0 for not. */
  ejectedUntilMs: f64;
  /** The one trial request after a back-off was sent then, ms; 0 for none under way. */
  trialMs: f64;

  /** Learned prefill time over the configured prior; 0 while nothing was learned (read as 1). */
  prefillFactor: f64;
  /** Learned time per output token over the configured prior; 0 while nothing was learned (read as 1). */
  decodeFactor: f64;
  prefillSamples: u32;
  decodeSamples: u32;
  /** When an answer last taught something of the speeds, ms. */
  learnedMs: f64;

  /** Learned cache capacity over the stated or configured one; 0 read as 1. */
  capacityFactor: f64;
  /** Young prefixes in a row that turned out not to be cached: a sign of a flushed cache. */
  misses: u32;
  /** Flushes in a row without a hit between them. */
  flushes: i32;
  /** Token clock at which the cache was found empty: what was noted before is void. */
  flushedClock: f64;
  /** When the server joined or restarted, ms. */
  joinedMs: f64;

  /** Requests of others there: the last report and the one before, whichever says less. NaN unknown. */
  @inline
  get othersRunning(): f64 {
    return Math.min(this.lastRunning, this.earlierRunning);
  }
  @inline
  get othersWaiting(): f64 {
    return Math.min(this.lastWaiting, this.earlierWaiting);
  }

  /** Notes what the next report shows beyond own in flight. */
  noteOthers(running: f64, waiting: f64): void {
    const first = isNaN(this.lastRunning) || this.sampleMs == 0;
    this.earlierRunning = first ? running : this.lastRunning;
    this.earlierWaiting = first ? waiting : this.lastWaiting;
    this.lastRunning = running;
    this.lastWaiting = waiting;
  }

  /**
   * Takes in by what its counters differ: prompt tokens that were looked up in its cache and not found, less those computed.
   * A preemption computes some again: then what is least stands for nothing in prefill, until the server is idle.
   * @param isIdle it has no requests  @param isNew nothing is known of its counters, or they began anew
   */
  noteBacklog(difference: f64, isIdle: bool, isNew: bool): void {
    if (!isFinite(difference)) {
      this.backlogTokens = NaN;
      return;
    }
    if (isIdle || isNew || difference < this.idleDifference) this.idleDifference = difference;
    this.backlogTokens = difference - this.idleDifference;
  }

  /** Its cache was found empty at a token clock. */
  flush(clock: f64): void {
    this.flushedClock = clock;
    empty(this.residency, clock);
  }

  /** The models and adapters that it names. */
  @inline
  get models(): HostModels {
    return changetype<HostModels>(changetype<usize>(this) + offsetof<HostRecord>());
  }

  /** Address of when what its cache holds was used last: residency.ts. */
  @inline
  get residency(): usize {
    return changetype<usize>(this.models) + MODELS_BYTES;
  }
}

export const HOST_RECORD_BYTES: i32 = <i32>offsetof<HostRecord>() + MODELS_BYTES + RESIDENCY_BYTES;
