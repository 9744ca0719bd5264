import { OUTPUT_BYTES, noteOutput, outputQuantile, outputWeight } from "../cost/output";

/** Prompts below this quantile are never heavy by what was learned: they are too many. */
const HEAVY_QUANTILE: f64 = 0.9;
/** Nor below so many medians: where all are alike, none is heavy. */
const CLEARLY: f64 = 4;
/** Nor below so many tokens. */
const LEAST_TOKENS: f64 = 4096;
/** Prompts that must have been seen. */
const LEAST_SEEN: f64 = 100;

/** Which prompts are heavy: learned from the tokens that had to be prefilled. */
export class Heavy {
  /** Heavy from here, tokens; Infinity while nothing was learned. */
  fromTokens: f64 = Infinity;
  private lengths: usize = heap.alloc(OUTPUT_BYTES);

  constructor() {
    memory.fill(this.lengths, 0, OUTPUT_BYTES);
  }

  /** A prompt came that needs so many tokens of prefill. */
  note(tokens: f64): void {
    noteOutput(this.lengths, tokens);
  }

  /** Draws the conclusions: now and then. */
  learn(): void {
    if (outputWeight(this.lengths) < LEAST_SEEN) return;
    const high = outputQuantile(this.lengths, HEAVY_QUANTILE);
    const median = outputQuantile(this.lengths, 0.5);
    this.fromTokens = Math.max(Math.max(high, CLEARLY * median), LEAST_TOKENS);
  }
}
