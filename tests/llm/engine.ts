import { PrefixCache } from "./cache.ts";
import {
  DEFAULT_ENGINE,
  type EngineCounters,
  type EngineListener,
  type EngineOptions,
  type EngineReport,
  type EngineRequest,
  newCounters,
  type Sequence,
} from "./model.ts";
import { hitLimitBlocks, Residence } from "./residence.ts";
import { BLOCK_TOKENS } from "./runs.ts";
import { Running } from "./sequence.ts";

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Continuous batching with chunked prefill over a block-LRU prefix cache, in whatever time its
 * caller lives: nothing happens but in `submit`, `cancel` and `advance`, which say what time it is.
 * A step serves all decoding sequences, then prefill chunks in order of arrival up to
 * `maxPrefillTokens`, and tells its results when it ends. First come, first served.
 */
export class Engine {
  readonly options: EngineOptions;
  cache: PrefixCache;
  counters: EngineCounters = newCounters();
  report: EngineReport;
  startedAtMs: number;
  alive = true;
  private readonly listener: EngineListener;
  private waiting: Running[] = [];
  private running: Running[] = [];
  private stepEndMs = NEVER;
  /** Results are being told: what is submitted now joins the step after. */
  private telling = false;
  private nextAnswerBlock = -1;

  constructor(listener: EngineListener, options: Partial<EngineOptions> = {}, nowMs = 0) {
    this.options = { ...DEFAULT_ENGINE, ...options };
    this.listener = listener;
    this.startedAtMs = nowMs;
    this.cache = this.newCache();
    this.report = this.newReport();
  }

  get runningCount(): number {
    return this.running.length;
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  /** Running sequences, then waiting ones, in order. */
  *sequences(): Iterable<Sequence> {
    yield* this.running;
    yield* this.waiting;
  }

  /** Tokens of this prompt that are cached here now. */
  cachedTokens(request: Pick<EngineRequest, "promptTokens" | "blocks">): number {
    return this.cache.peek(request.blocks, hitLimitBlocks(request.promptTokens)) * BLOCK_TOKENS;
  }

  /** When the running step ends; infinite when idle. */
  nextEventMs(): number {
    return this.stepEndMs;
  }

  submit(request: EngineRequest, nowMs: number): Sequence {
    this.advance(nowMs);
    const sequence = new Running(request, nowMs);
    const blocks = Math.ceil((request.promptTokens + request.outputTokens) / BLOCK_TOKENS);
    if (!this.alive || blocks > this.cache.capacityBlocks) {
      this.listener.onAbort?.(sequence, nowMs, this.alive ? "too_long" : "killed");
      return sequence;
    }
    this.waiting.push(sequence);
    if (this.stepEndMs === NEVER && !this.telling) this.startStep(nowMs);
    return sequence;
  }

  /** Forgets a request whose client went away; what it computed stays cached. */
  cancel(sequence: Sequence, nowMs: number): void {
    this.advance(nowMs);
    const at = this.running.indexOf(sequence as Running);
    if (at >= 0) {
      this.leave(sequence as Running);
      this.running.splice(at, 1);
      return;
    }
    const queued = this.waiting.indexOf(sequence as Running);
    if (queued >= 0) this.waiting.splice(queued, 1);
  }

  /** Ends all steps that end by `nowMs`. */
  advance(nowMs: number): void {
    while (this.stepEndMs <= nowMs && !this.telling) {
      const endMs = this.stepEndMs;
      this.stepEndMs = NEVER;
      this.telling = true;
      this.finishStep(endMs);
      this.telling = false;
      if (this.alive) this.startStep(endMs);
    }
  }

  /** The process dies: all requests abort, the cache is lost. */
  kill(nowMs: number): void {
    this.advance(nowMs);
    const lost = [...this.running, ...this.waiting];
    this.running = [];
    this.waiting = [];
    this.alive = false;
    this.stepEndMs = NEVER;
    this.cache = this.newCache();
    for (const sequence of lost) this.listener.onAbort?.(sequence, nowMs, "killed");
  }

  /** Comes back with an empty cache and counters at zero. */
  restart(nowMs: number): void {
    if (this.alive) this.kill(nowMs);
    this.alive = true;
    this.counters = newCounters();
    this.report = this.newReport();
    this.startedAtMs = nowMs;
  }

  private newCache(): PrefixCache {
    return new PrefixCache(Math.floor(this.options.cacheTokens / BLOCK_TOKENS));
  }

  private newReport(): EngineReport {
    return {
      running: this.running.length,
      waiting: this.waiting.length,
      kvUsage: this.cache.usage,
      cacheQueryTokens: this.counters.cacheQueryTokens,
      cacheHitTokens: this.counters.cacheHitTokens,
    };
  }

  private startStep(nowMs: number): void {
    const { options } = this;
    this.growDecoding();
    let decoding = 0;
    let contextTokens = 0;
    let budget = options.maxPrefillTokens;
    for (const sequence of this.running) {
      const missing = sequence.missingTokens;
      if (missing > 0) {
        sequence.chunkTokens = Math.min(missing, budget);
        budget -= sequence.chunkTokens;
      } else {
        decoding += 1;
        contextTokens += sequence.computedTokens;
      }
    }
    budget -= this.admit(budget, nowMs);
    const prefillTokens = options.maxPrefillTokens - budget;
    if (prefillTokens === 0 && decoding === 0) return;
    const durationMs =
      options.slowFactor *
      (options.stepMs +
        options.prefillMsPerToken * prefillTokens +
        options.decodeMsPerSequence * decoding +
        options.decodeMsPerContextToken * contextTokens);
    this.counters.busyMs += durationMs;
    this.stepEndMs = nowMs + durationMs;
  }

  /** Starts waiting requests while they fit; returns the prefill tokens given to them. */
  private admit(budgetTokens: number, nowMs: number): number {
    let used = 0;
    while (used < budgetTokens && this.running.length < this.options.maxRunning) {
      const sequence = this.waiting[0];
      if (sequence === undefined) break;
      const { request } = sequence;
      const residence = Residence.enter(this.cache, request, sequence.prefillTokens);
      if (residence === null) break;
      this.waiting.shift();
      sequence.residence = residence;
      sequence.computedTokens = residence.namedTokens;
      if (Number.isNaN(sequence.startedMs)) {
        sequence.startedMs = nowMs;
        sequence.cachedTokens = sequence.computedTokens;
        this.counters.cacheQueryTokens += request.promptTokens;
        this.counters.cacheHitTokens += sequence.computedTokens;
      }
      sequence.chunkTokens = Math.min(sequence.missingTokens, budgetTokens - used);
      used += sequence.chunkTokens;
      this.running.push(sequence);
    }
    return used;
  }

  /** Gives each sequence room for its next token; the youngest make way. */
  private growDecoding(): void {
    for (let i = 0; i < this.running.length; i += 1) {
      const sequence = this.running[i] as Running;
      while (sequence.residence?.grow(sequence.computedTokens + 1) === false) {
        const youngest = this.running.pop() as Running;
        this.preempt(youngest);
      }
    }
  }

  private preempt(sequence: Running): void {
    this.leave(sequence);
    sequence.prefillTokens = sequence.request.promptTokens + sequence.generatedTokens;
    sequence.computedTokens = 0;
    sequence.chunkTokens = 0;
    this.counters.preempted += 1;
    this.waiting.unshift(sequence);
  }

  private finishStep(nowMs: number): void {
    const batch = this.running;
    this.running = [];
    this.counters.steps += 1;
    const told: Running[] = [];
    for (const sequence of batch) {
      const decoding = this.endStepOf(sequence);
      if (decoding) told.push(sequence);
      if (decoding && sequence.generatedTokens >= sequence.request.outputTokens) {
        this.nameAnswer(sequence);
        this.leave(sequence);
      } else {
        this.running.push(sequence);
      }
    }
    this.report = this.newReport();
    for (const sequence of told) this.tell(sequence, nowMs);
  }

  /** Enters what the step did for `sequence`; false while its prefill goes on. */
  private endStepOf(sequence: Running): boolean {
    const { request } = sequence;
    const prefilling = sequence.missingTokens > 0;
    const tokens = prefilling ? sequence.chunkTokens : 1;
    this.counters.stepTokens += tokens;
    sequence.computedTokens += tokens;
    sequence.chunkTokens = 0;
    if (prefilling) {
      sequence.residence?.namePrompt(Math.min(sequence.computedTokens, request.promptTokens));
      if (sequence.missingTokens > 0) return false;
    }
    if (request.outputTokens > 0) {
      sequence.generatedTokens += 1;
      this.counters.generationTokens += 1;
    }
    return true;
  }

  private tell(sequence: Running, nowMs: number): void {
    const { request } = sequence;
    const first = Number.isNaN(sequence.firstTokenMs);
    if (first) {
      sequence.firstTokenMs = nowMs;
      this.counters.promptTokens += request.promptTokens;
    }
    if (request.outputTokens > 0) {
      if (first) this.listener.onFirstToken?.(sequence, nowMs);
      this.listener.onToken?.(sequence, nowMs);
    }
    if (sequence.generatedTokens >= request.outputTokens) {
      this.counters.finished += 1;
      this.listener.onFinish(sequence, nowMs);
    }
  }

  /** An answer that no later prompt refers to takes room in the cache all the same. */
  private nameAnswer(sequence: Running): void {
    let block = sequence.request.outputBlock;
    if (block === undefined) {
      this.nextAnswerBlock -= Math.ceil(sequence.request.outputTokens / BLOCK_TOKENS) + 2;
      block = this.nextAnswerBlock;
    }
    // The last token's own keys and values are never computed.
    sequence.residence?.nameAnswer(sequence.request, sequence.computedTokens, block);
  }

  private leave(sequence: Running): void {
    sequence.residence?.leave();
    sequence.residence = null;
  }
}
