/** Counts are compared from the start of a watch: after this it starts anew, so that what begins late shows as soon, ms. */
const WATCH_MS: f64 = 60_000;
/** … and after no fewer polls than this, however rare they are. */
const WATCH_POLLS: i32 = 10;
/** Fewer requests than this, or a smaller share of all, may be what the two counts differ by. */
const LEAST: i64 = 20;
const LEAST_SHARE: f64 = 0.2;
/** So many polls in a row must show them: workers tell what they sent a moment later. */
const SURE_POLLS: i32 = 3;

/**
 * Finds requests that reach the servers past the filter, by two counts: Envoy's, of all that it handed to the members of the
 * cluster, and the filter's, of its own tries and polls. What can't be counted for sure is counted as the filter's own.
 */
export class Outsiders {
  /** Since the watch started: all requests, and those that came past the filter. */
  all: i64 = 0;
  past: i64 = 0;
  private startMs: f64 = 0;
  private hosts: i32 = 0;
  private handedBefore: i64 = 0;
  private ownBefore: i64 = 0;
  private polls: i32 = 0;
  private showing: i32 = 0;
  private known: i64 = 0;

  /**
   * Takes a new poll's counts.
   * @param handed requests handed to the members so far  @param hosts how many members  @param own the filter's part so far
   * @returns how many more have come past the filter than was known; 0 while that isn't sure
   */
  note(nowMs: f64, handed: i64, hosts: i32, own: i64): i64 {
    const agedMs = nowMs - this.startMs;
    const isOver = agedMs >= WATCH_MS && this.polls >= WATCH_POLLS;
    // A member that leaves takes its count along.
    if (isOver || agedMs < 0 || hosts != this.hosts || handed < this.handedBefore) {
      this.start(nowMs, handed, hosts, own);
      return 0;
    }
    this.polls++;
    this.all = handed - this.handedBefore;
    this.past = this.all - (own - this.ownBefore);
    if (this.past < LEAST || <f64>this.past < LEAST_SHARE * <f64>this.all) {
      this.showing = 0;
      return 0;
    }
    if (++this.showing < SURE_POLLS) return 0;
    const more = this.past - this.known;
    if (more <= 0) return 0;
    this.known = this.past;
    return more;
  }

  private start(nowMs: f64, handed: i64, hosts: i32, own: i64): void {
    this.startMs = nowMs;
    this.hosts = hosts;
    this.handedBefore = handed;
    this.ownBefore = own;
    this.all = 0;
    this.past = 0;
    this.polls = 0;
    this.showing = 0;
    this.known = 0;
  }
}
