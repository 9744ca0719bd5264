import { OUTPUT_BYTES, noteOutput, outputQuantile, outputWeight } from "../cost/output";

/**
 * Prompts below this quantile are never heavy by what was learned: they are too many. Well below the share that may be heavy:
 * with 0.9 every second heavy prompt counted as light where a tenth were (heavy-light, seed 4: light p98 668 ms; 309 with this).
 */
const HEAVY_QUANTILE: f64 = 0.75;
/** Nor below so many medians: where all are alike, none is heavy. */
const CLEARLY: f64 = 4;
/** Nor below so many tokens. */
const LEAST_TOKENS: f64 = 4096;
/** Prompts that must have been seen. Until then heavy ones go anywhere: with 100 one in a hundred of 3,000 requests met that. */
const LEAST_SEEN: f64 = 20;

/** Weight of one request in the mean work, once it is settled: a heavy one in twelve leaves ±20 % with this, ±50 % with 0.02. */
const SETTLED_WEIGHT: f64 = 0.002;

/** Which prompts are heavy, and how many servers to keep free of them: learned from what had to be computed. */
export class Heavy {
  /** Heavy from here, tokens; Infinity while nothing was learned. */
  fromTokens: f64 = Infinity;
  private lengths: usize = heap.alloc(OUTPUT_BYTES);
  /** Mean work of a request, and what of it is light ones', ms. */
  private workMs: f64 = 0;
  private lightMs: f64 = 0;
  private noted: f64 = 0;

  constructor() {
    memory.fill(this.lengths, 0, OUTPUT_BYTES);
  }

  /** A prompt came that needs so many tokens of prefill. */
  note(tokens: f64): void {
    noteOutput(this.lengths, tokens);
  }

  /** A request came that is expected to keep a server busy for so long, ms. @param tokens to prefill for it */
  noteWork(tokens: f64, workMs: f64): void {
    const weight = Math.max(1 / ++this.noted, SETTLED_WEIGHT);
    const lightMs = tokens < this.fromTokens ? workMs : 0;
    this.workMs += (workMs - this.workMs) * weight;
    this.lightMs += (lightMs - this.lightMs) * weight;
  }

  /** Draws the conclusions: now and then. @param configured heavy from so many tokens on, 0 to learn it */
  learn(configured: f64): void {
    if (configured > 0) {
      this.fromTokens = configured;
      return;
    }
    if (outputWeight(this.lengths) < LEAST_SEEN) return;
    const high = outputQuantile(this.lengths, HEAVY_QUANTILE);
    const median = outputQuantile(this.lengths, 0.5);
    this.fromTokens = Math.max(Math.max(high, CLEARLY * median), LEAST_TOKENS);
  }

  /**
   * How many servers heavy prompts leave to the light ones: by the light ones' share of the work; none where there are next to
   * none of them. A quarter more for their bursts took more from the heavy ones than it gave (heavy-light, seeds 1, 4, at rates
   * 4.5 and 5.5: p90 109, 465 and 157, 383 ms instead of 124, 357 and 156, 467; heavy ones in time 98, 85 and 89, 65 % instead
   * of 100, 88 and 91, 78).
   * @param servers that can be chosen
   * @param heavyShare share of the servers that heavy prompts may use in any case, 0..1
   */
  keptServers(servers: i32, heavyShare: f64): i32 {
    if (!(this.workMs > 0)) return 0;
    const wanted = Math.round((this.lightMs * <f64>servers) / this.workMs);
    return <i32>Math.min(wanted, Math.floor((1 - heavyShare) * <f64>servers));
  }
}
