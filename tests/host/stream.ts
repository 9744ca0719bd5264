import { HeadersStatus, NOT_CALLED, type Pairs, toBuffer } from "./abi.ts";
import { Flow, type FlowOwner } from "./flow.ts";
import { type Guest, VmTrap } from "./guest.ts";
import { HeaderMap } from "./headers.ts";
import type { Root } from "./vm.ts";

export interface StreamOptions {
  /** What `upstream.address` says; can be set later, when it is known. */
  upstreamAddress?: string;
  /** What `xds.cluster_name` says. */
  cluster?: string;
  /** Further properties, by path with dots between its segments. */
  attributes?: Readonly<Record<string, string | Uint8Array>>;
}

/** An answer that came from Envoy, the filter's own included. */
export interface LocalReply {
  status: number;
  details: string;
  headers: HeaderMap;
  body: Buffer;
}

const NO_FUNCTION = 0;

/** One request and its response on their way through the filter. */
export class Stream implements FlowOwner {
  readonly root: Root;
  readonly guest: Guest;
  readonly id: number;
  readonly request: Flow;
  readonly response: Flow;
  readonly startNs: bigint;
  readonly attributes: Map<string, string | Uint8Array>;
  /** What the filter has set as properties, by path as it is in memory. */
  readonly filterState = new Map<string, Buffer>();
  upstreamAddress: string | undefined;
  cluster: string | undefined;

  localReply: LocalReply | undefined;
  /** Response code details. */
  details: string | undefined;
  /** Why the stream broke off, if it did. */
  resetReason: string | undefined;
  /** Request body bytes that have come in. */
  requestBytes = 0;
  /** How often the filter asked to go on. */
  continues = 0;
  /** The access log is being written: headers of both directions can be read. */
  logging = false;
  finished = false;
  /** Its `onDone` said not yet. */
  lingering = false;

  private created = false;

  constructor(root: Root, options: StreamOptions) {
    const { host } = root.vm;
    this.root = root;
    this.guest = root.guest;
    this.id = root.vm.takeContextId();
    this.request = new Flow(this, host.requestBodyBufferLimit);
    this.response = new Flow(this, host.responseBodyBufferLimit);
    this.startNs = host.clock.now();
    this.attributes = new Map(Object.entries(options.attributes ?? {}));
    this.upstreamAddress = options.upstreamAddress;
    this.cluster = options.cluster;
  }

  /** Each returns the filter's status after Envoy's own changes, or NOT_CALLED. */
  requestHeaders(pairs: Pairs | HeaderMap, end = false): number {
    return this.request.begin(pairs instanceof HeaderMap ? pairs : HeaderMap.from(pairs), end);
  }

  requestBody(chunk: string | Uint8Array, end = false): number {
    const bytes = toBuffer(chunk);
    this.requestBytes += bytes.length;
    return this.request.data(bytes, end);
  }

  requestTrailers(pairs: Pairs): number {
    return this.request.finish(HeaderMap.from(pairs));
  }

  responseHeaders(pairs: Pairs | HeaderMap, end = false): number {
    this.details ??= "via_upstream";
    return this.response.begin(pairs instanceof HeaderMap ? pairs : HeaderMap.from(pairs), end);
  }

  responseBody(chunk: string | Uint8Array, end = false): number {
    return this.response.data(toBuffer(chunk), end);
  }

  responseTrailers(pairs: Pairs): number {
    return this.response.finish(HeaderMap.from(pairs));
  }

  /** Request headers as they have gone on, or as they are now. */
  get headers(): HeaderMap {
    return this.request.sentHeaders ?? this.request.headers;
  }

  /** A property that the filter has set, as text; segments joined by dots. */
  property(path: string): string | undefined {
    const value = this.filterState.get(path) ?? this.filterState.get(path.replaceAll(".", "\0"));
    return value?.toString("utf8");
  }

  /** The client has gone away. */
  clientReset(): void {
    this.reset("downstream_remote_disconnect");
  }

  /** The server has: before its response began that is an answer of Envoy's, else a reset. */
  upstreamReset(): void {
    if (this.response.sentHeaders) {
      // The router's word takes the place of "via_upstream".
      this.details = "upstream_reset_after_response_started";
      this.reset(this.details);
      return;
    }
    const body = "upstream connect error or disconnect/reset before headers";
    this.reply(503, "upstream_reset_before_response_started", new HeaderMap(), body);
  }

  /** Ends it whatever has come; no-op where it has ended by itself. */
  done(): void {
    this.finish();
  }

  /** Breaks it off. */
  reset(reason: string): void {
    if (this.finished) return;
    this.resetReason = reason;
    this.details ??= reason;
    this.finish();
  }

  /** Answers in the server's stead; the answer goes through the filter as a response does. */
  reply(status: number, details: string, extra: HeaderMap, body: string | Uint8Array): void {
    if (this.finished || this.localReply) return;
    if (this.response.sentHeaders) {
      this.reset(details);
      return;
    }
    const bytes = toBuffer(body);
    const headers = HeaderMap.from([[":status", String(status)]]);
    for (let i = 0; i < extra.size; i++) {
      headers.add(extra.names[i] as string, extra.values[i] as string);
    }
    if (bytes.length > 0) {
      headers.set("content-length", String(bytes.length));
      if (headers.find("content-type") === undefined) headers.add("content-type", "text/plain");
    }
    this.details = details;
    this.localReply = { status, details, headers, body: bytes };
    this.request.close();
    this.response.begin(headers, bytes.length === 0);
    if (bytes.length > 0) this.response.data(bytes, true);
  }

  /** Fails it because the VM is dead: 503 if that can still be said, and no further callbacks. */
  fail(): void {
    if (this.finished) return;
    if (!this.response.sentHeaders) {
      const headers = HeaderMap.from([[":status", "503"]]);
      this.localReply ??= {
        status: 503,
        details: "wasm_fail_stream",
        headers,
        body: Buffer.alloc(0),
      };
    }
    this.resetReason = "wasm_fail_stream";
    this.details = "wasm_fail_stream";
    this.finished = true;
    this.request.close();
    this.response.close();
    this.guest.contexts.delete(this.id);
  }

  callHeaders(flow: Flow, count: number, end: boolean): number {
    const name = flow === this.request ? "proxy_on_request_headers" : "proxy_on_response_headers";
    const status = this.call(name, count, end ? 1 : 0);
    if (status === NOT_CALLED) return status;
    const stopAll = HeadersStatus.StopAllIterationAndWatermark;
    if (this.guest.stopped || status > stopAll) return stopAll;
    const mayStop = this.root.vm.host.allowOnHeadersStopIteration;
    return status === HeadersStatus.StopIteration && !mayStop ? stopAll : status;
  }

  callBody(flow: Flow, bytes: number, end: boolean): number {
    const name = flow === this.request ? "proxy_on_request_body" : "proxy_on_response_body";
    const status = this.call(name, bytes, end ? 1 : 0);
    return status !== NOT_CALLED && (this.guest.stopped || status > 3) ? 3 : status;
  }

  callTrailers(flow: Flow, count: number): number {
    const name = flow === this.request ? "proxy_on_request_trailers" : "proxy_on_response_trailers";
    const status = this.call(name, count, 0);
    return status !== NOT_CALLED && (this.guest.stopped || status > 1) ? 1 : status;
  }

  tooLarge(flow: Flow): void {
    if (flow === this.request) {
      this.reply(413, "request_payload_too_large", new HeaderMap(), "Payload Too Large");
    } else if (this.response.sentHeaders) {
      this.reset("response_payload_too_large");
    } else {
      this.response.close();
      this.localReply = {
        status: 500,
        details: "response_payload_too_large",
        headers: HeaderMap.from([[":status", "500"]]),
        body: Buffer.from("Internal Server Error"),
      };
      this.reset("response_payload_too_large");
    }
  }

  ended(flow: Flow): void {
    if (flow === this.response) this.guest.whenIdle(() => this.finish());
  }

  /** A header map as host functions see it now. */
  map(flow: Flow, trailers: boolean): HeaderMap | undefined {
    if (trailers) return flow.trailersVisible || this.logging ? flow.trailers : undefined;
    return flow.headersVisible || this.logging ? flow.headers : undefined;
  }

  private call(name: string, a: number, b: number): number {
    const { guest } = this;
    if (this.finished) return NOT_CALLED;
    if (guest.dead) {
      this.fail();
      return NOT_CALLED;
    }
    try {
      if (!this.created) {
        this.created = true;
        guest.contexts.set(this.id, this);
        guest.run(this, "proxy_on_context_create", NO_FUNCTION, this.root.id);
      }
      return guest.run(this, name, NO_FUNCTION, a, b);
    } catch (error) {
      if (!(error instanceof VmTrap)) throw error;
      this.fail();
      if (this.root.vm.host.throwOnTrap) throw error;
      return NOT_CALLED;
    }
  }

  /** As Envoy 1.40 does it: log, done, delete. */
  private finish(): void {
    if (this.finished) return;
    this.finished = true;
    this.request.close();
    this.response.close();
    const { guest } = this;
    if (!this.created || guest.dead) return;
    this.root.vm.host.guard(() => {
      this.logging = true;
      guest.run(this, "proxy_on_log", NO_FUNCTION);
      this.logging = false;
      this.lingering = guest.run(this, "proxy_on_done", 1) === 0;
      if (!this.lingering) this.remove();
    });
  }

  /** The last callback. */
  remove(): void {
    this.lingering = false;
    if (!this.guest.contexts.has(this.id)) return;
    this.guest.run(this, "proxy_on_delete", NO_FUNCTION);
    this.guest.contexts.delete(this.id);
  }
}
