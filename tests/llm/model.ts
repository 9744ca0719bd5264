import type { Runs } from "./runs.ts";

/** What one engine can do; the defaults are one 8B-class GPU. */
export interface EngineOptions {
  stepMs: number;
  prefillMsPerToken: number;
  decodeMsPerSequence: number;
  decodeMsPerContextToken: number;
  /** Prefill tokens in a step at most. */
  maxPrefillTokens: number;
  maxRunning: number;
  cacheTokens: number;
  /** A step takes this many times as long: 3 is a server three times slower. */
  slowFactor: number;
}

export const DEFAULT_ENGINE: Readonly<EngineOptions> = {
  stepMs: 8,
  prefillMsPerToken: 0.055,
  decodeMsPerSequence: 0.25,
  decodeMsPerContextToken: 1e-5,
  maxPrefillTokens: 8192,
  maxRunning: 256,
  cacheTokens: 1_000_000,
  slowFactor: 1,
};

/** A request as the engine sees it. */
export interface EngineRequest {
  id: number;
  promptTokens: number;
  /** Ids of the prompt's full blocks; what has no id is computed, never shared. */
  blocks: Runs;
  /** Tokens to answer with; 0 ends at the end of the prefill (embeddings). */
  outputTokens: number;
  /** Id of the block after the prompt's full ones, should a later prompt contain the answer. */
  outputBlock?: number;
}

/** A request inside the engine; read only for everybody else. */
export interface Sequence {
  readonly request: EngineRequest;
  readonly arrivedMs: number;
  /** NaN until it is first scheduled. */
  readonly startedMs: number;
  /** NaN until the first token. */
  readonly firstTokenMs: number;
  /** Prompt tokens that were cached when it started. */
  readonly cachedTokens: number;
  /** Tokens whose keys and values are there, cached ones included. */
  readonly computedTokens: number;
  readonly generatedTokens: number;
}

/** Told at the end of each step, with the time of that end. */
export interface EngineListener {
  onFirstToken?(sequence: Sequence, nowMs: number): void;
  /** Each token, the first included. */
  onToken?(sequence: Sequence, nowMs: number): void;
  onFinish(sequence: Sequence, nowMs: number): void;
  /** The server died, or the prompt can never fit. */
  onAbort?(sequence: Sequence, nowMs: number, cause: "killed" | "too_long"): void;
}

/** Totals since the start; reset by a restart. */
export interface EngineCounters {
  promptTokens: number;
  generationTokens: number;
  cacheQueryTokens: number;
  cacheHitTokens: number;
  steps: number;
  /** Prompt tokens computed and tokens generated, summed over steps. */
  stepTokens: number;
  finished: number;
  preempted: number;
  /** Time spent in steps. */
  busyMs: number;
}

/** What the engine reports of itself: as of its last finished step, like real engines. */
export interface EngineReport {
  running: number;
  waiting: number;
  /** 0..1 */
  kvUsage: number;
  cacheQueryTokens: number;
  cacheHitTokens: number;
}

export function newCounters(): EngineCounters {
  return {
    promptTokens: 0,
    generationTokens: 0,
    cacheQueryTokens: 0,
    cacheHitTokens: 0,
    steps: 0,
    stepTokens: 0,
    finished: 0,
    preempted: 0,
    busyMs: 0,
  };
}

/** Time of a prompt's prefill alone on an idle server with a cold cache, for latency goals. */
export function prefillAloneMs(promptTokens: number, options: EngineOptions): number {
  const steps = Math.max(1, Math.ceil(promptTokens / options.maxPrefillTokens));
  return options.slowFactor * (steps * options.stepMs + options.prefillMsPerToken * promptTokens);
}
