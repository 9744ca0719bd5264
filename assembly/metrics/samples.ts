import { LabelSet } from "./labels";

/** Takes samples from a reader of some format (text.ts, query.ts). */
export abstract class SampleSink {
  /**
   * Asks whether a metric is of interest, before its labels are read.
   * @param hash `nameHash` of the name
   * @returns an entry ≥ 0 to be handed to `onSample`, -1 if nobody wants it
   */
  abstract lookup(hash: u32, ptr: usize, len: i32): i32;

  /**
   * One sample of a wanted metric.
   * @param value as reported; NaN and infinities included
   * @param timestampMs ms since 1970, NaN if the sample carries none
   */
  abstract onSample(entry: i32, labels: LabelSet, value: f64, timestampMs: f64): void;
}

/** Start value of a name's hash. */
export const NAME_HASH: u32 = 0x811c9dc5;

/** One step of a name's hash (FNV-1a). */
@inline
export function nameHashStep(hash: u32, byte: u32): u32 {
  return (hash ^ byte) * 0x01000193;
}

/** Hash of a metric name. */
export function nameHash(ptr: usize, len: i32): u32 {
  let hash = NAME_HASH;
  for (let i: usize = 0; i < <usize>len; i++) hash = nameHashStep(hash, load<u8>(ptr + i));
  return hash;
}

/**
 * Timestamps stand in ms (Prometheus) or in seconds (OpenMetrics), and only the last line of an
 * answer tells which format it is. So the size decides: below 1e11 (March 1973 in ms, the year 5138
 * in seconds) it is seconds.
 */
export function timestampToMs(timestamp: f64): f64 {
  return Math.abs(timestamp) < 1e11 ? timestamp * 1000 : timestamp;
}
