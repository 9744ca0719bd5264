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

/** A heavy prompt whose client states no goal is in time within so many times what its prefill takes alone, ... */
const GOAL_PREFILLS: f64 = 3;
/** ... and within so long in any case, ms: the goals that serving is compared by. */
const GOAL_MS: f64 = 2000;

/** How long a heavy prompt that takes so long to prefill, ms, can wait until it begins and be in time, ms. */
export function slackOf(prefillMs: f64): f64 {
  return Math.max(GOAL_PREFILLS * prefillMs, GOAL_MS) - prefillMs;
}

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
   * How many servers heavy prompts leave to the light ones: by the light ones' share of the work; none where there are next to no
   * light ones. One more for their bursts made p90 14 % shorter, and 2.4 % instead of 1.8 of the heavy ones late (heavy-light,
   * seeds 4, 5, 11, 12 at rate 4.33; all p99 5.2 and 4.7 s).
   * @param servers that can be chosen
   * @param heavyShare share of the servers that heavy prompts may use in any case, 0..1
   */
  keptServers(servers: i32, heavyShare: f64): i32 {
    if (!(this.workMs > 0)) return 0;
    const share = Math.round((this.lightMs * <f64>servers) / this.workMs);
    return <i32>Math.min(share, Math.floor((1 - heavyShare) * <f64>servers));
  }
}
