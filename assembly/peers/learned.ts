/**
 * What a gateway learned of a host's speed by itself, in 6 bytes of its row:
 *
 * ```
 * │prefill: ln of the factor 2 (thousandths)│decode: the same 2│samples of prefill 1│ of decode 1│
 * ```
 * The factors are those of cost/speed.ts: 1 is as configured, 0 samples is nothing learned.
 */

const DECODE: usize = 2;
const SAMPLES: usize = 4;
/** More answers than this say no more: a settled factor is about the last twelve. */
const SAMPLES_MAX: u32 = 12;
/** Steps of a factor's logarithm. */
const STEPS: f64 = 1000;
/** Factors are within 0.001 … 1000 (cost/speed.ts); what is said to be beyond isn't believed. */
const LOG_MAX: f64 = 7;

@unmanaged
export class Learned {
  /** @param prefill factor, 0 for none  @param prefillSamples answers that it comes from */
  static write(
    at: usize,
    prefill: f64,
    prefillSamples: u32,
    decode: f64,
    decodeSamples: u32,
  ): void {
    writeSpeed(at, at + SAMPLES, prefill, prefillSamples);
    writeSpeed(at + DECODE, at + SAMPLES + 1, decode, decodeSamples);
  }

  /** Answers that the prefill factor comes from, 0…SAMPLES_MAX. */
  @inline
  static prefillSamples(at: usize): u32 {
    return min<u32>(load<u8>(at + SAMPLES), SAMPLES_MAX);
  }
  /** Natural logarithm of the prefill factor. */
  @inline
  static prefillLog(at: usize): f64 {
    return clamped(<f64>load<i16>(at) / STEPS);
  }
  @inline
  static decodeSamples(at: usize): u32 {
    return min<u32>(load<u8>(at + SAMPLES + 1), SAMPLES_MAX);
  }
  @inline
  static decodeLog(at: usize): f64 {
    return clamped(<f64>load<i16>(at + DECODE) / STEPS);
  }
}

function writeSpeed(to: usize, samplesTo: usize, factor: f64, samples: u32): void {
  const isKnown = factor > 0 && samples > 0;
  const log = isKnown ? Math.round(Math.log(factor) * STEPS) : 0;
  store<i16>(to, <i16>(clamped(log / STEPS) * STEPS));
  store<u8>(samplesTo, isKnown ? <u8>min(samples, SAMPLES_MAX) : 0);
}

@inline
function clamped(log: f64): f64 {
  return Math.min(Math.max(log, -LOG_MAX), LOG_MAX);
}
