import { DataStatus, HeadersStatus, NOT_CALLED } from "./abi.ts";
import { HeaderMap } from "./headers.ts";

/** What a flow asks of its stream. */
export interface FlowOwner {
  /** Call the filter; the status, or NOT_CALLED where there is nobody to call. */
  callHeaders(flow: Flow, count: number, end: boolean): number;
  callBody(flow: Flow, bytes: number, end: boolean): number;
  callTrailers(flow: Flow, count: number): number;
  /** More was buffered than may be. */
  tooLarge(flow: Flow): void;
  /** The last byte has gone on. */
  ended(flow: Flow): void;
}

const FLOWING = 0;
/** This filter goes on being called, nothing passes. */
const STOPPED = 1;
/** Nothing passes and nobody is called. */
const STOPPED_ALL = 2;

const EMPTY = new Uint8Array(0);

/**
 * One direction of a stream on its way through the filter, with Envoy's buffering: what the filter
 * stops waits here, and goes on when it says Continue or is continued.
 */
export class Flow {
  headers = new HeaderMap();
  trailers: HeaderMap | undefined;
  /** Envoy takes the headers from the filter once it has let them go. */
  headersVisible = false;
  trailersVisible = false;

  /** What has gone on. */
  sentHeaders: HeaderMap | undefined;
  sentTrailers: HeaderMap | undefined;
  readonly sent: Uint8Array[] = [];
  sentBytes = 0;
  sentEnd = false;

  /** Over the limit in a mode that pauses reading; Envoy's peer can't send more. */
  readDisabled = false;
  /** Continue was asked for where nothing was stopped. */
  idleContinues = 0;
  closed = false;

  private readonly owner: FlowOwner;
  private readonly limitBytes: number;
  private state = FLOWING;
  private streaming = false;
  private filterBuffers = false;
  private buffer: Uint8Array[] = [];
  private bufferBytes = 0;
  private current: Uint8Array = EMPTY;
  private observedEnd = false;

  constructor(owner: FlowOwner, limitBytes: number) {
    this.owner = owner;
    this.limitBytes = limitBytes;
  }

  get paused(): boolean {
    return !this.closed && this.state !== FLOWING;
  }

  /** All bytes that have gone on, in one piece. */
  get sentBody(): Buffer {
    return Buffer.concat(this.sent);
  }

  /** Bytes that wait here. */
  get heldBytes(): number {
    return this.bufferBytes;
  }

  /** The chunks that the filter can read now. */
  readable(): readonly Uint8Array[] {
    return this.filterBuffers ? this.buffer : [this.current];
  }

  begin(headers: HeaderMap, end: boolean): number {
    if (this.closed) return NOT_CALLED;
    this.headers = headers;
    this.headersVisible = true;
    this.observedEnd = end;
    const status = this.owner.callHeaders(this, headers.size, end);
    if (this.closed) return status;
    if (status === HeadersStatus.Continue || status === NOT_CALLED) {
      this.headersVisible = false;
      this.sendHeaders(end);
    } else {
      this.state = status === HeadersStatus.StopIteration ? STOPPED : STOPPED_ALL;
      this.streaming = status === HeadersStatus.StopAllIterationAndWatermark;
    }
    return status;
  }

  data(chunk: Uint8Array, end: boolean): number {
    if (this.closed) return NOT_CALLED;
    this.observedEnd = end;
    if (this.state === STOPPED_ALL) {
      this.hold(chunk);
      return NOT_CALLED;
    }
    return this.deliver(chunk, end);
  }

  private deliver(given: Uint8Array, end: boolean): number {
    let chunk = given;
    if (this.filterBuffers) {
      // The filter reads all that is buffered: the chunk goes there before the call. Where that is
      // too much Envoy has its answer ready, yet makes the call before it gives it.
      this.keep(chunk);
      chunk = EMPTY;
    }
    this.current = chunk;
    const bytes = this.filterBuffers ? this.bufferBytes : chunk.length;
    const status = this.owner.callBody(this, bytes, end);
    this.filterBuffers = false;
    if (this.closed) return status;
    if (this.overLimit && !this.streaming) {
      this.owner.tooLarge(this);
      return status;
    }
    switch (status) {
      case NOT_CALLED:
      case DataStatus.Continue:
        this.current = EMPTY;
        if (this.state === FLOWING) {
          this.send(chunk, end);
        } else {
          this.hold(chunk);
          if (!this.closed) this.release();
        }
        break;
      case DataStatus.StopIterationAndBuffer:
      case DataStatus.StopIterationAndWatermark:
        this.state = STOPPED;
        this.streaming = status === DataStatus.StopIterationAndWatermark;
        this.filterBuffers = !this.streaming;
        this.hold(chunk);
        break;
      default:
        this.state = STOPPED;
    }
    return status;
  }

  finish(trailers: HeaderMap): number {
    if (this.closed) return NOT_CALLED;
    this.trailers = trailers;
    this.observedEnd = true;
    if (this.state === STOPPED_ALL) return NOT_CALLED;
    return this.deliverTrailers();
  }

  private deliverTrailers(): number {
    this.trailersVisible = true;
    const status = this.owner.callTrailers(this, (this.trailers as HeaderMap).size);
    if (this.closed) return status;
    if (status === 0 || status === NOT_CALLED) {
      this.trailersVisible = false;
      this.release();
    } else {
      this.state = STOPPED;
    }
    return status;
  }

  /** The filter's `continue`. */
  resume(): void {
    if (this.closed) return;
    if (this.state === FLOWING) {
      this.idleContinues++;
      return;
    }
    if (this.state !== STOPPED_ALL) {
      this.release();
      return;
    }
    // Headers go on; what came behind them has yet to be shown to the filter.
    this.state = FLOWING;
    this.readDisabled = false;
    this.sendHeaders(this.observedEnd && this.bufferBytes === 0 && !this.trailers);
    const chunk = this.take();
    if (chunk.length > 0) this.deliver(chunk, this.observedEnd && !this.trailers);
    if (this.trailers && !this.closed) this.deliverTrailers();
  }

  /** Ends it: nothing is sent or called any more. */
  close(): void {
    this.closed = true;
    this.buffer = [];
    this.bufferBytes = 0;
    this.current = EMPTY;
  }

  private get overLimit(): boolean {
    return this.bufferBytes > this.limitBytes;
  }

  private keep(chunk: Uint8Array): void {
    if (chunk.length > 0) this.buffer.push(chunk);
    this.bufferBytes += chunk.length;
  }

  private hold(chunk: Uint8Array): void {
    this.keep(chunk);
    if (!this.overLimit) return;
    if (this.streaming) this.readDisabled = true;
    else this.owner.tooLarge(this);
  }

  private take(): Uint8Array {
    const chunk =
      this.buffer.length === 1 ? (this.buffer[0] as Uint8Array) : Buffer.concat(this.buffer);
    this.buffer = [];
    this.bufferBytes = 0;
    return chunk;
  }

  /** Lets go what was stopped, past this filter. */
  private release(): void {
    this.state = FLOWING;
    this.filterBuffers = false;
    this.readDisabled = false;
    const chunks = this.buffer;
    const bytes = this.bufferBytes;
    this.buffer = [];
    this.bufferBytes = 0;
    const end = this.observedEnd && !this.trailers;
    if (!this.sentHeaders) this.sendHeaders(end && bytes === 0);
    for (let i = 0; i < chunks.length; i++) {
      this.send(chunks[i] as Uint8Array, end && i === chunks.length - 1);
    }
    if (end && !this.sentEnd && !this.closed) this.send(EMPTY, true);
    if (this.trailers && !this.closed) {
      this.sentTrailers = this.trailers.copy();
      this.endSending();
    }
  }

  private sendHeaders(end: boolean): void {
    this.sentHeaders = this.headers.copy();
    if (end) this.endSending();
  }

  private send(chunk: Uint8Array, end: boolean): void {
    if (chunk.length > 0) this.sent.push(chunk);
    this.sentBytes += chunk.length;
    if (end) this.endSending();
  }

  private endSending(): void {
    this.sentEnd = true;
    this.owner.ended(this);
  }
}
