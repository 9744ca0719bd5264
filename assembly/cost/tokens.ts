/** How many tokens is a prompt? Bytes over a learned ratio, plus what is counted exactly or by a constant. */

/** A tokenizer gives between these bytes per token on real text of any language. */
const RATIO_MIN: f64 = 1;
const RATIO_MAX: f64 = 16;
/** Weight of one answer once the ratio is settled. */
const SETTLED_WEIGHT: f64 = 0.05;

/**
 * @param bytes UTF-8 bytes of prompt text
 * @param fixedTokens token ids, and images at their constant
 * @param bytesPerToken ratio of the model
 */
@inline
export function promptTokens(bytes: f64, fixedTokens: f64, bytesPerToken: f64): f64 {
  return bytes / bytesPerToken + fixedTokens;
}

/**
 * Band of a text by its script, as its bytes per code point tell: tokenizers give other bytes per token to each.
 * @returns 0 ASCII, mostly; 1 Latin with many accents, or mixed; 2 Cyrillic, Greek, Arabic and the like; 3 CJK and the like
 */
export function scriptBand(bytes: f64, codePoints: f64): u32 {
  if (!(codePoints > 0) || bytes < codePoints * 1.1) return 0;
  if (bytes < codePoints * 1.5) return 1;
  return bytes < codePoints * 2.2 ? 2 : 3;
}

/**
 * Bytes per token after one more answer, from the prompt tokens it reported.
 *
 * @param ratio present ratio  @param samples answers so far
 * @param bytes text bytes of the prompt; under 64 says too little and changes nothing
 * @param fixedTokens part of the reported tokens that isn't text
 * @param reported prompt tokens as the server counted them
 */
export function learnBytesPerToken(
  ratio: f64,
  samples: u32,
  bytes: f64,
  fixedTokens: f64,
  reported: f64,
): f64 {
  const textTokens = reported - fixedTokens;
  if (bytes < 64 || !(textTokens >= 1)) return ratio;
  const observed = Math.min(Math.max(bytes / textTokens, RATIO_MIN), RATIO_MAX);
  const weight = Math.max(1.0 / (<f64>samples + 1), SETTLED_WEIGHT);
  return ratio + (observed - ratio) * weight;
}
