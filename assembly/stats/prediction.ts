import { Counter, Histogram } from "../host/stats";

/** Misses above this are told as this, percent. */
const MOST_PERCENT: f64 = 1000;
/** What one sample may add to the sums: one that can't be right must not outweigh all that came before. */
const MOST: f64 = 1e9;

/**
 * How well one kind of thing is predicted: a histogram of misses in whole percent, and sums from which a mean over all can be
 * had that short answers don't dominate (missed / observed), and whether predictions are too high (predicted > observed).
 */
export class Prediction {
  private errorPercent: Histogram;
  readonly predicted: Counter;
  readonly observed: Counter;
  readonly missed: Counter;

  /**
   * @param name as in `warmroute.<name>_error_percent`
   * @param unit what the sums' names say beside, `_ms` or nothing where the name has it
   */
  constructor(name: string, unit: string = "") {
    this.errorPercent = Histogram.define(`warmroute.${name}_error_percent`);
    this.predicted = Counter.zero(`warmroute.${name}_predicted${unit}_total`);
    this.observed = Counter.zero(`warmroute.${name}_observed${unit}_total`);
    this.missed = Counter.zero(`warmroute.${name}_missed${unit}_total`);
  }

  /** Notes one prediction and what came; both ≥ 0, in ms or tokens. */
  note(predicted: f64, observed: f64): void {
    const missed = Math.abs(predicted - observed);
    const percent = observed > 0 ? (missed / observed) * 100 : 0;
    this.errorPercent.record(<u64>Math.min(percent, MOST_PERCENT));
    this.predicted.add(whole(predicted));
    this.observed.add(whole(observed));
    this.missed.add(whole(missed));
  }
}

function whole(value: f64): i64 {
  return value > 0 ? <i64>Math.round(Math.min(value, MOST)) : 0;
}
