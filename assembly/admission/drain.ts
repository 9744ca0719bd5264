/** What was drained this long ago counts 1/e, ms. */
const MEMORY_MS: f64 = 10000;
/** The expected rate counts as seen for this long, ms. */
const PRIOR_MS: f64 = 1000;

/** How fast the queue drains: work started per ms, over the time in which something waited. */
export class Drain {
  private workMs: f64 = 0;
  private seenMs: f64 = 0;
  private lastMs: f64 = 0;

  /** Something begins to wait. */
  begin(nowMs: f64): void {
    this.lastMs = nowMs;
  }

  /** Time passes while something waits. */
  pass(nowMs: f64): void {
    const passedMs = nowMs - this.lastMs;
    this.lastMs = nowMs;
    const kept = Math.exp(-passedMs / MEMORY_MS);
    this.workMs *= kept;
    this.seenMs = this.seenMs * kept + MEMORY_MS * (1 - kept);
  }

  /** A request was started. */
  started(workMs: f64): void {
    this.workMs += workMs;
  }

  /**
   * Time until so much work has been started, ms.
   * @param prior work per ms that is expected while little was seen, above 0
   */
  waitMs(workMs: f64, prior: f64): f64 {
    const rate = (this.workMs + prior * PRIOR_MS) / (this.seenMs + PRIOR_MS);
    return rate > 0 ? workMs / rate : Infinity;
  }
}
