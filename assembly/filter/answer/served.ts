/** How a request fared after it was sent. One per stream, reused. */
export class Served {
  /** Host slot that the request is counted on, −1 for none, and the slot's generation then. */
  slot: i32 = -1;
  generation: u8 = 0;
  /** Whether it waits for its first token there (true) or decodes (false). */
  waiting: bool = false;
  /** Prefill ms and context tokens that it is counted with. */
  workMs: f64 = 0;
  contextTokens: f64 = 0;
  sentMs: f64 = 0;
  /**
   * First token of an event stream, 0 for none yet: what comes before (comments, pings, announcements, an error) is none. Of an
   * answer in one piece, or one that can't be read, the first byte of its body.
   */
  firstTokenMs: f64 = 0;
  /** Requests without a first token at the host before this one was sent. */
  waitingBefore: f64 = 0;
  /** From the last first token at the host before its own, if that came after sending, ms; else NaN. */
  sinceLastMs: f64 = NaN;
  /** The host's token clock when this request had been sent. */
  clockAtSent: f64 = 0;
  /** Sequences that decoded at the host, and its token clock, when this request's first token came. */
  batchAtFirst: f64 = 0;
  clockAtFirst: f64 = 0;
  /** Status of the answer, 0 for none. */
  status: i32 = 0;
  /** The answer is one of Envoy's own: no server's. */
  isLocal: bool = false;
  /** The answer is an event stream. */
  eventStream: bool = false;
  /** The server asked for less (429 or 503 with `retry-after`). */
  pushedBack: bool = false;
  /** Another host than the first choice served it. */
  fellBack: bool = false;
  /** It was tried at one server after another. */
  retried: bool = false;
  /** The answer came to its end. */
  complete: bool = false;
  /** Its id was noted. */
  isNamed: bool = false;
  /** It is no longer counted on its host. */
  left: bool = false;
  /** It is counted among the open requests of its conversation. */
  isInCrowd: bool = false;

  /** Blank, for the next request. */
  reset(): void {
    this.slot = -1;
    this.generation = 0;
    this.waiting = false;
    this.workMs = 0;
    this.contextTokens = 0;
    this.sentMs = 0;
    this.firstTokenMs = 0;
    this.waitingBefore = 0;
    this.sinceLastMs = NaN;
    this.clockAtSent = 0;
    this.batchAtFirst = 0;
    this.clockAtFirst = 0;
    this.status = 0;
    this.isLocal = false;
    this.eventStream = false;
    this.pushedBack = false;
    this.fellBack = false;
    this.retried = false;
    this.complete = false;
    this.isNamed = false;
    this.left = false;
    this.isInCrowd = false;
  }
}
