import { RequestReader } from "../body/request";
import { UsageReader } from "../body/usage";
import { StreamContext } from "../host/contexts";
import { Ticket } from "../admission/ticket";
import { Decision } from "./choice/decision";
import { Served } from "./answer/served";

/** Where a stream is on its way. */
export const enum Phase {
  /** Not ours to look at: passes as it is. */
  Passing,
  /** Headers are held, the body is being read. */
  Reading,
  /** Decided, and held until a server has room. */
  Queued,
  /** Decided, and held until other gateways know. */
  Proposed,
  /** Answered 429. */
  Refused,
  /** Decided and released; the answer is awaited. */
  Sent,
  /** Its answer has begun. */
  Answering,
  /** Ended; whatever still comes changes nothing. */
  Ended,
}

/** What is known of one request, from its headers to its end. */
export abstract class Stream extends StreamContext {
  phase: Phase = Phase.Passing;
  readonly decision: Decision = new Decision();
  readonly served: Served = new Served();
  /** Reads the body, until the decision. */
  reader: RequestReader | null = null;
  usage: UsageReader | null = null;
  /** Bytes of the request's body that were read. */
  bodyBytes: i32 = 0;
  /** Its place in the queue. */
  readonly ticket: Ticket = new Ticket();
  /** When the headers were held, or the body last made progress, ms. */
  heldMs: f64 = 0;
  /** Whether its large body is watched for stalling. */
  watched: bool = false;

  /** Makes a pooled stream new. */
  begin(): void {
    this.phase = Phase.Passing;
    this.bodyBytes = 0;
    this.ticket.reset();
    this.heldMs = 0;
    this.watched = false;
    this.decision.reset();
    this.served.reset();
  }

  /** Whether it waits, or was answered instead: in either case nothing of it goes on from a callback. */
  get isHeld(): bool {
    const phase = this.phase;
    return phase == Phase.Queued || phase == Phase.Proposed || phase == Phase.Refused;
  }

  /** Routes a held request by its headers alone: this Envoy brought no body callback in time. */
  abstract releaseUnread(): void;

  /** Routes a held request by what has come of its body: nothing more does. */
  abstract releaseStalled(): void;
}
