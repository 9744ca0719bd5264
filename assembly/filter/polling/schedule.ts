/** Failed polls are tried again after this many intervals at most. */
const BACK_OFF_MAX: f64 = 4;
/** A poll comes up to this share of its interval early or late, so that gateways don't poll in step. */
const JITTER: f64 = 0.1;
/** Longest back-off, ms. */
const BACK_OFF_MAX_MS: f64 = 30000;

/** When each target is polled next: jittered intervals, doubling after failures. */
export class Schedule {
  private nextMs: StaticArray<f64>;
  private intervalMs: StaticArray<f64>;
  private failures: StaticArray<i32>;

  constructor(targets: i32) {
    this.nextMs = new StaticArray<f64>(targets);
    this.intervalMs = new StaticArray<f64>(targets);
    this.failures = new StaticArray<i32>(targets);
  }

  /** Whether the target is to be polled now; if so, its next time is set. */
  isDue(target: i32, nowMs: f64, intervalMs: f64): bool {
    const next = unchecked(this.nextMs[target]);
    if (nowMs < next) return false;
    unchecked((this.intervalMs[target] = intervalMs));
    unchecked(
      (this.nextMs[target] = nowMs + intervalMs * (1 - JITTER + 2 * JITTER * Math.random())),
    );
    return true;
  }

  succeeded(target: i32): void {
    unchecked((this.failures[target] = 0));
  }

  /** Failures in a row. */
  failuresOf(target: i32): i32 {
    return unchecked(this.failures[target]);
  }

  /** The first failure changes nothing; further ones double the interval, to 4 times or 30 s. */
  failed(target: i32, nowMs: f64): void {
    const failures = min(unchecked(this.failures[target]) + 1, 16);
    unchecked((this.failures[target] = failures));
    const interval = unchecked(this.intervalMs[target]);
    const factor = Math.min(Math.pow(2, <f64>(failures - 1)), BACK_OFF_MAX);
    const wait = Math.max(interval, Math.min(interval * factor, BACK_OFF_MAX_MS));
    unchecked((this.nextMs[target] = nowMs + wait * (1 - JITTER + 2 * JITTER * Math.random())));
  }
}
