/**
 * How fast a server prefills and decodes: priors from the configuration times one learned factor each. All times in
 * milliseconds, all factors relative to the prior (1 = as configured; 3 = three times slower).
 */

/** Factors stay within these bounds: from a server that answers at once (a mock, a cache of answers) to one that computes on a small CPU. */
export const FACTOR_MIN: f64 = 0.0001;
export const FACTOR_MAX: f64 = 1000;
/**
 * In prices, servers that are faster than this are as fast as this, and as fast as each other: what little time they take is as
 * much the network's and the clock's as theirs, and must not outweigh where a cache or a session's home is.
 */
export const PRICED_FACTOR_MIN: f64 = 0.1;
/** First tokens of one server that come so close together are of one step, ms. */
export const SAME_STEP_MS: f64 = 2;
/** One sample moves a factor by at most this ratio, so that one odd answer can't spoil it. */
const STEP_MAX: f64 = 2;
/** Weight of a sample once a factor is settled: about the last twelve count. */
const SETTLED_WEIGHT: f64 = 0.08;

/** A learned factor, or 1 while nothing was learned. */
@inline
export function factorOr1(factor: f64): f64 {
  return factor > 0 ? factor : 1;
}

/**
 * A factor after one more observation: a mean in log space, each sample clipped to STEP_MAX around the present value, the
 * first samples weighing 1, 1/2, 1/3 … (a plain mean) down to SETTLED_WEIGHT.
 *
 * @param factor present factor, 0 for none
 * @param samples observations so far
 * @param observedMs what was measured
 * @param predictedMs what the present factor had predicted; not above 0 leaves the factor as it is
 * @param trust 0..1, how much the observation is about this factor
 */
export function learnFactor(
  factor: f64,
  samples: u32,
  observedMs: f64,
  predictedMs: f64,
  trust: f64,
): f64 {
  const present = factorOr1(factor);
  if (!(predictedMs > 0) || !(observedMs > 0) || !(trust > 0)) return present;
  const weight = Math.max(1.0 / (<f64>samples + 1), SETTLED_WEIGHT) * Math.min(trust, 1);
  let ratio = observedMs / predictedMs;
  // The first samples may correct a prior that is far off; later ones are clipped.
  const clip = samples < 4 ? STEP_MAX * 8 : STEP_MAX;
  ratio = Math.min(Math.max(ratio, 1 / clip), clip);
  return Math.min(Math.max(present * Math.exp(weight * Math.log(ratio)), FACTOR_MIN), FACTOR_MAX);
}

/**
 * Duration of one decode step with a batch of `sequences`.
 * Formula of the engine model: step + per-sequence × sequences (context adds 1e-5 ms a token and is left to the factor).
 */
@inline
export function stepMs(decodeStepMs: f64, msPerSequence: f64, sequences: f64, factor: f64): f64 {
  return (decodeStepMs + msPerSequence * sequences) * factor;
}
