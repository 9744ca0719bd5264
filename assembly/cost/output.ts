/**
 * How long will the answer be? A decaying histogram of observed lengths (half-octave bins), whose mean and quantiles predict
 * the next. It works on 4-byte floats at a byte address, so that the record can live in shared data.
 *
 * ```
 * ┌────────┬─────┬──────────────────────────────┐
 * │weight 4│sum 4│ BINS × 4                     │   bin b holds lengths in [2^(b/2), 2^((b+1)/2))
 * └────────┴─────┴──────────────────────────────┘
 * ```
 */
const BINS: i32 = 34;
export const OUTPUT_BYTES: i32 = 8 + BINS * 4;

/** Each new length weighs 1, all earlier ones lose this share: about the last 200 count. */
const DECAY: f32 = 0.995;
/** Longest answer that is told apart: tokens. */
const LONGEST: f64 = 131072;

/** Adds one observed length. @param tokens output tokens, clipped to 0..131072 */
export function noteOutput(at: usize, tokens: f64): void {
  const length = <f32>Math.min(Math.max(tokens, 0), LONGEST);
  store<f32>(at, load<f32>(at) * DECAY + 1);
  store<f32>(at + 4, load<f32>(at + 4) * DECAY + length);
  for (let bin = 0; bin < BINS; bin++) {
    const place = at + 8 + <usize>bin * 4;
    store<f32>(place, load<f32>(place) * DECAY);
  }
  const place = at + 8 + <usize>binOf(length) * 4;
  store<f32>(place, load<f32>(place) + 1);
}

/** Observations that still count, 0 for none. */
@inline
export function outputWeight(at: usize): f64 {
  return <f64>load<f32>(at);
}

/** Mean length in tokens; `prior` counts as `priorWeight` observations. */
export function meanOutput(at: usize, prior: f64, priorWeight: f64): f64 {
  const weight = outputWeight(at) + priorWeight;
  return weight > 0 ? (<f64>load<f32>(at + 4) + prior * priorWeight) / weight : prior;
}

/** Length that a share `q` (0..1) of the observed answers doesn't exceed, to half an octave; −1 with no observations. */
export function outputQuantile(at: usize, q: f64): f64 {
  const weight = outputWeight(at);
  if (!(weight > 0)) return -1;
  let left = weight * q;
  for (let bin = 0; bin < BINS; bin++) {
    left -= <f64>load<f32>(at + 8 + <usize>bin * 4);
    if (left <= 0) return Math.pow(2, <f64>(bin + 1) / 2);
  }
  return LONGEST;
}

/**
 * Band of an output cap: requests that allow 16 tokens aren't those that allow 4096.
 * @returns 0 no cap, 1 ≤ 16, 2 ≤ 64, 3 ≤ 256, 4 ≤ 1024, 5 ≤ 4096, 6 above
 */
export function capBand(cap: u32): u32 {
  if (cap == 0) return 0;
  if (cap <= 16) return 1;
  if (cap <= 64) return 2;
  if (cap <= 256) return 3;
  if (cap <= 1024) return 4;
  return cap <= 4096 ? 5 : 6;
}

/** Longest prompts that are told apart: 4^12 tokens. */
const PROMPT_BANDS: u32 = 12;

/**
 * Band of a prompt's length: who sends a book wants another answer than who sends a line.
 * @returns b for 4^b ≤ tokens < 4^(b+1), at most 12
 */
export function promptBand(tokens: f64): u32 {
  let band: u32 = 0;
  for (let left = tokens; left >= 4 && band < PROMPT_BANDS; left /= 4) band++;
  return band;
}

function binOf(length: f32): i32 {
  let bin = 0;
  let bound: f64 = Math.SQRT2;
  while (bin < BINS - 1 && <f64>length >= bound) {
    bound *= Math.SQRT2;
    bin++;
  }
  return bin;
}
