import { RequestReader } from "../body/request";
import { UsageReader } from "../body/usage";
import { BufferType, getPiece } from "../host/buffers";
import { nowMs } from "../host/clock";
import { DataStatus, HeadersStatus, StreamContext, TrailersStatus } from "../host/contexts";
import { Ticket } from "../admission/ticket";
import { outLen, outPtr } from "../host/memory";
import { Decision } from "./choice/decision";
import { Root } from "./root";
import { Served } from "./answer/served";

/** Where a stream is on its way. */
export const enum Phase {
  /** Not ours to look at: passes as it is. */
  Passing,
  /** Headers are held, the body is being read. */
  Reading,
  /** Decided, and held until a server has room. */
  Queued,
  /** Answered 429. */
  Refused,
  /** Decided and released; the answer is awaited. */
  Sent,
  /** Its answer has begun. */
  Answering,
  /** Ended; whatever still comes changes nothing. */
  Ended,
}

/** One request from its headers to its end. Pooled. */
export class Stream extends StreamContext {
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

  constructor(private root: Root) {
    super();
  }

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

  onRequestHeaders(count: i32, endOfStream: bool): HeadersStatus {
    const root = this.root;
    const intake = root.intake;
    if (!intake.read(root.config)) {
      root.stats.internalErrors.add(1);
      root.tries++;
      return HeadersStatus.Continue;
    }
    if (intake.isSteered) root.steered.removed();
    if (intake.isGet && root.status.answer(intake.pathPtr, intake.pathLen)) {
      return HeadersStatus.StopIteration;
    }
    if (!intake.inference || endOfStream) {
      root.tries++;
      return HeadersStatus.Continue;
    }
    const d = this.decision;
    d.apiHash = intake.apiHash;
    d.isResponses = intake.isResponses;
    d.headerSessionHash = intake.sessionHash;
    d.tenantHash = intake.tenantHash;
    d.contentLength = intake.contentLength;
    this.takeWishes();
    this.phase = Phase.Reading;
    if (!root.canHold) root.stats.headersNotHeld.add(1);
    if (!intake.readable || !root.canHold) {
      this.decide(null);
      return this.headersStatus();
    }
    const reader = root.pool.takeReader();
    if (!reader) {
      // More requests are being read at once than memory is set aside for: this one is routed unread.
      this.decide(null);
      return this.headersStatus();
    }
    this.reader = reader;
    root.heldStreams.add(this);
    return HeadersStatus.StopIteration;
  }

  onRequestBody(size: i32, endOfStream: bool): DataStatus {
    if (this.phase != Phase.Reading) return this.bodyStatus();
    const root = this.root;
    root.heldStreams.prove();
    const reader = this.reader;
    if (!reader) return DataStatus.Continue;
    const until = min(size, root.config.inspectLimitBytes - this.bodyBytes);
    let read = 0;
    while (getPiece(BufferType.RequestBody, read, until)) {
      read += outLen;
      reader.feed(outPtr, outLen);
    }
    this.bodyBytes += read;
    if (endOfStream || read < size || this.bodyBytes >= root.config.inspectLimitBytes) {
      this.readToEnd(!endOfStream || read < size);
      return this.bodyStatus();
    }
    root.heldStreams.progress(this, this.bodyBytes);
    // Not …AndBuffer: that answers 413 over the buffer limit. This one shows each chunk once and only slows the client down.
    return DataStatus.StopIterationAndWatermark;
  }

  onRequestTrailers(count: i32): TrailersStatus {
    // Trailers come in place of an end with the last chunk.
    if (this.phase == Phase.Reading && this.reader) this.readToEnd(false);
    return this.isHeld ? TrailersStatus.StopIteration : TrailersStatus.Continue;
  }

  onResponseHeaders(count: i32, endOfStream: bool): HeadersStatus {
    if (this.phase == Phase.Sent || this.phase == Phase.Passing) {
      this.root.answers.headers(this, endOfStream);
    } else if (this.isHeld) {
      // An answer of Envoy's own, or of the filter's.
      this.root.explain.respond(this, false);
    }
    return HeadersStatus.Continue;
  }

  onResponseBody(size: i32, endOfStream: bool): DataStatus {
    if (this.phase == Phase.Answering) this.root.answers.body(this, size, endOfStream);
    return DataStatus.Continue;
  }

  onResponseTrailers(count: i32): TrailersStatus {
    if (this.phase == Phase.Answering) this.root.answers.completed(this);
    return TrailersStatus.Continue;
  }

  onLog(): void {
    this.end();
  }

  onDelete(): void {
    this.end();
    this.root.pool.giveStream(this);
  }

  /** Routes a held request by its headers alone: this Envoy brought no body callback in time. */
  releaseUnread(): void {
    this.dropReader();
    if (this.phase == Phase.Reading) this.decide(null);
  }

  /** Routes a held request by what has come of its body: nothing more does. */
  releaseStalled(): void {
    if (this.phase == Phase.Reading) this.readToEnd(true);
  }

  /** Gives the body reader back. */
  dropReader(): void {
    const reader = this.reader;
    if (reader) this.root.pool.giveReader(reader);
    this.reader = null;
  }

  private readToEnd(truncated: bool): void {
    const reader = this.reader;
    if (!reader) return;
    this.root.heldStreams.remove(this);
    reader.finish(truncated);
    this.decide(reader);
    // Few readers, used again at once, stay in the processor's cache.
    this.dropReader();
  }

  private decide(reader: RequestReader | null): void {
    this.root.send(this, reader);
  }

  /** What its headers ask of admission. */
  private takeWishes(): void {
    const intake = this.root.intake;
    const ticket = this.ticket;
    ticket.priority = intake.priority;
    ticket.hasPriority = intake.hasPriority;
    ticket.tenant = intake.shareHash;
    if (intake.deadlineMs == 0 && intake.goalMs == 0) return;
    const now = nowMs();
    if (intake.deadlineMs > 0) ticket.deadlineMs = now + intake.deadlineMs;
    if (intake.goalMs > 0) ticket.goalMs = now + intake.goalMs;
  }

  /** Whether it waits for room, or was answered instead: in either case nothing of it goes on from a callback. */
  get isHeld(): bool {
    return this.phase == Phase.Queued || this.phase == Phase.Refused;
  }

  private headersStatus(): HeadersStatus {
    return this.isHeld ? HeadersStatus.StopAllIterationAndWatermark : HeadersStatus.Continue;
  }

  private bodyStatus(): DataStatus {
    return this.isHeld ? DataStatus.StopIterationAndWatermark : DataStatus.Continue;
  }

  /** Ends the stream once, however it ended. */
  private end(): void {
    if (this.phase == Phase.Ended) return;
    if (this.phase == Phase.Passing) {
      this.root.explain.passing(this);
    } else {
      if (this.phase == Phase.Reading) this.root.heldStreams.remove(this);
      if (this.phase == Phase.Queued) this.root.admission.abandon(this, nowMs());
      this.root.answers.end(this);
    }
    this.dropReader();
    const usage = this.usage;
    if (usage) this.root.pool.giveUsage(usage);
    this.usage = null;
    this.phase = Phase.Ended;
  }
}
