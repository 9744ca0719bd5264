import { RequestReader } from "../body/request";
import { BufferType, getPiece } from "../host/buffers";
import { nowMs } from "../host/clock";
import { DataStatus, HeadersStatus, TrailersStatus } from "../host/contexts";
import { outLen, outPtr } from "../host/memory";
import { Pipeline } from "./pipeline";
import { Phase, Stream } from "./stream";

/** One request on its way: Envoy's callbacks, and what each sets off. Pooled. */
export class RequestStream extends Stream {
  constructor(private pipeline: Pipeline) {
    super();
  }

  onRequestHeaders(count: i32, endOfStream: bool): HeadersStatus {
    const pipeline = this.pipeline;
    const core = pipeline.core;
    const intake = pipeline.intake;
    if (!intake.read(core.config)) {
      core.stats.internalErrors.add(1);
      core.tries++;
      return HeadersStatus.Continue;
    }
    if (intake.isSteered) pipeline.steered.removed();
    if (intake.isGet && pipeline.status.answer(intake.pathPtr, intake.pathLen)) {
      return HeadersStatus.StopIteration;
    }
    if (!intake.inference || endOfStream) {
      core.tries++;
      pipeline.stored.route(this, intake);
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
    if (!pipeline.held.canHold) core.stats.headersNotHeld.add(1);
    if (!intake.readable || !pipeline.held.canHold) {
      this.decide(null);
      return this.headersStatus();
    }
    const reader = pipeline.pool.takeReader();
    if (!reader) {
      // More requests are being read at once than memory is set aside for: this one is routed unread.
      this.decide(null);
      return this.headersStatus();
    }
    this.reader = reader;
    pipeline.held.add(this);
    return HeadersStatus.StopIteration;
  }

  onRequestBody(size: i32, endOfStream: bool): DataStatus {
    if (this.phase != Phase.Reading) return this.bodyStatus();
    const pipeline = this.pipeline;
    const inspectLimitBytes = pipeline.core.config.inspectLimitBytes;
    pipeline.held.prove();
    const reader = this.reader;
    if (!reader) return DataStatus.Continue;
    const until = min(size, inspectLimitBytes - this.bodyBytes);
    let read = 0;
    while (getPiece(BufferType.RequestBody, read, until)) {
      read += outLen;
      reader.feed(outPtr, outLen);
    }
    this.bodyBytes += read;
    if (endOfStream || read < size || this.bodyBytes >= inspectLimitBytes) {
      this.readToEnd(!endOfStream || read < size);
      return this.bodyStatus();
    }
    pipeline.held.progress(this, this.bodyBytes);
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
      this.pipeline.answers.headers(this, endOfStream);
    } else if (this.isHeld) {
      // An answer of Envoy's own, or of the filter's.
      this.pipeline.explain.respond(this, false);
    }
    return HeadersStatus.Continue;
  }

  onResponseBody(size: i32, endOfStream: bool): DataStatus {
    if (this.phase == Phase.Answering) this.pipeline.answers.body(this, size, endOfStream);
    return DataStatus.Continue;
  }

  onResponseTrailers(count: i32): TrailersStatus {
    if (this.phase == Phase.Answering) this.pipeline.answers.completed(this, nowMs());
    return TrailersStatus.Continue;
  }

  onLog(): void {
    this.end();
  }

  onDelete(): void {
    this.end();
    this.pipeline.pool.giveStream(this);
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
  private dropReader(): void {
    const reader = this.reader;
    if (reader) this.pipeline.pool.giveReader(reader);
    this.reader = null;
  }

  private readToEnd(truncated: bool): void {
    const reader = this.reader;
    if (!reader) return;
    this.pipeline.held.remove(this);
    reader.finish(truncated);
    this.decide(reader);
    // Few readers, used again at once, stay in the processor's cache.
    this.dropReader();
  }

  private decide(reader: RequestReader | null): void {
    this.pipeline.decide(this, reader);
  }

  /** What its headers ask of admission. */
  private takeWishes(): void {
    const intake = this.pipeline.intake;
    const ticket = this.ticket;
    ticket.priority = intake.priority;
    ticket.hasPriority = intake.hasPriority;
    ticket.tenant = intake.shareHash;
    if (intake.deadlineMs == 0 && intake.goalMs == 0) return;
    const now = nowMs();
    if (intake.deadlineMs > 0) ticket.deadlineMs = now + intake.deadlineMs;
    if (intake.goalMs > 0) ticket.goalMs = now + intake.goalMs;
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
      this.pipeline.explain.passing(this);
    } else {
      if (this.phase == Phase.Reading) this.pipeline.held.remove(this);
      if (this.phase == Phase.Queued) this.pipeline.waiting.abandon(this, nowMs());
      if (this.phase == Phase.Proposed) this.pipeline.proposals.abandon(this, nowMs());
      this.pipeline.answers.end(this);
    }
    this.dropReader();
    const usage = this.usage;
    if (usage) this.pipeline.pool.giveUsage(usage);
    this.usage = null;
    this.phase = Phase.Ended;
  }
}
