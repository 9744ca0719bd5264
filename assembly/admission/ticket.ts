/** A request's place in the queue. One per stream, reused. */
export class Ticket {
  /** Whose it is, for the one who holds the queue. */
  owner: u32 = 0;
  /** −100..100, higher first; whether headers stated it. */
  priority: i32 = 0;
  hasPriority: bool = false;
  tenant: u64 = 0;
  /** Requests of one kind (model) have room or not together. */
  kind: u64 = 0;
  isHeavy: bool = false;
  /** Light: whether it found no room, or left it to another worker or gateway; then others leave it theirs. */
  contends: bool = false;
  /** What it is expected to keep a server busy, ms ≥ 0. */
  workMs: f64 = 0;
  /** Body bytes held for it. */
  bytes: f64 = 0;
  /** When it came into the queue, ms. */
  queuedMs: f64 = 0;
  /** The client's own deadline, ms; Infinity for none. */
  deadlineMs: f64 = Infinity;
  /** Heavy: from when on it takes any server, ms. */
  freeMs: f64 = 0;
  /** Heavy: from when on it can't begin early enough to be in time, ms; Infinity for light ones. */
  lateMs: f64 = Infinity;
  /** When it is given up, ms. */
  expiresMs: f64 = Infinity;
  /** From when on it can't begin early enough to meet its goal any more, ms; Infinity for no goal. */
  goalMs: f64 = Infinity;

  /** Set by the queue: place in it, −1 for none, and its tenant's. */
  place: i32 = -1;
  share: i32 = 0;

  /** Blank, for the next request. */
  reset(): void {
    this.deadlineMs = Infinity;
    this.goalMs = Infinity;
    this.lateMs = Infinity;
    this.place = -1;
  }
}
