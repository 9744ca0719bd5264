import type { EngineRequest, Sequence } from "./model.ts";
import type { Residence } from "./residence.ts";

/** A sequence as only the engine may change it. */
export class Running implements Sequence {
  readonly request: EngineRequest;
  readonly arrivedMs: number;
  startedMs = Number.NaN;
  firstTokenMs = Number.NaN;
  cachedTokens = 0;
  generatedTokens = 0;
  computedTokens = 0;
  /** Tokens to compute before (again) decoding: the prompt, after a preemption the answer too. */
  prefillTokens: number;
  /** Prefill tokens in the step that runs now. */
  chunkTokens = 0;
  residence: Residence | null = null;

  constructor(request: EngineRequest, nowMs: number) {
    this.request = request;
    this.arrivedMs = nowMs;
    this.prefillTokens = request.promptTokens;
  }

  /** Tokens to compute before the next one can be generated. */
  get missingTokens(): number {
    return Math.max(0, this.prefillTokens - this.computedTokens);
  }
}
