import { existsSync, readFileSync } from "node:fs";
import { WASM } from "../../tools/paths.ts";
import type { Call } from "../host/calls.ts";
import { ManualClock } from "../host/clock.ts";
import { Host, type HostOptions } from "../host/host.ts";
import type { Stream } from "../host/stream.ts";
import type { Root } from "../host/vm.ts";

let compiled: WebAssembly.Module | undefined;

/** The shipped module. */
export function filterModule(): WebAssembly.Module {
  if (!compiled) {
    if (!existsSync(WASM)) throw new Error(`${WASM} is missing: run npm run build first`);
    compiled = new WebAssembly.Module(readFileSync(WASM));
  }
  return compiled;
}

export interface GatewayOptions {
  workers?: number;
  /** Merged over `hosts`, `debug_headers: true` and `metrics.source: "none"`. */
  config?: Record<string, unknown>;
  /** Answers the filter's calls; without it they wait in `host.calls`. */
  onCall?: (call: Call) => void;
  allowOnHeadersStopIteration?: boolean;
  clock?: ManualClock;
  clusters?: string[];
  logLevel?: HostOptions["logLevel"];
}

export interface RequestOptions {
  worker?: number;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  /** Cluster of its route; `llm` by default. */
  cluster?: string;
  /** Bytes per chunk; the whole body at once by default. */
  chunk?: number;
}

export interface AnswerOptions {
  /** Who serves; the first choice by default. */
  host?: string;
  status?: number;
  headers?: Record<string, string>;
  /** Events of a stream or the whole JSON answer; by default one with usage. */
  body?: string;
  promptTokens?: number;
  cachedTokens?: number;
  completionTokens?: number;
  id?: string;
}

/** One Envoy with the filter in several workers, driven by hand in virtual time. */
export class Gateway {
  readonly clock: ManualClock;
  readonly host: Host;
  readonly roots: Root[] = [];
  private readonly config: string;

  /** @param hosts addresses of the servers */
  constructor(hosts: string[], options: GatewayOptions = {}) {
    this.clock = options.clock ?? new ManualClock();
    this.host = new Host({
      clock: this.clock,
      clusters: options.clusters ?? ["llm", "envoy_admin"],
      allowOnHeadersStopIteration: options.allowOnHeadersStopIteration ?? true,
      ...(options.onCall ? { onCall: options.onCall } : {}),
      ...(options.logLevel ? { logLevel: options.logLevel } : {}),
    });
    this.config = JSON.stringify({
      hosts,
      debug_headers: true,
      metrics: { source: "none" },
      ...options.config,
    });
    for (let worker = 0; worker < (options.workers ?? 1); worker++) this.addWorker();
    this.host.advance(200);
  }

  /** Starts one more worker; returns its number. */
  addWorker(): number {
    const vm = this.host.createVm(filterModule(), { vmId: "warmroute" });
    const root = vm.createRoot({ rootId: "warmroute", config: this.config });
    if (!root.accepted) {
      throw new Error(`configuration refused: ${this.host.logs.map((l) => l.message).join("; ")}`);
    }
    return this.roots.push(root) - 1;
  }

  /** Sends a request with a JSON body (or raw bytes) and brings it to the filter's decision. */
  send(body: unknown, options: RequestOptions = {}): Exchange {
    const root = this.roots[options.worker ?? 0] as Root;
    const stream = root.createStream({ cluster: options.cluster ?? "llm" });
    const bytes =
      body instanceof Uint8Array
        ? Buffer.from(body)
        : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const headers: [string, string][] = [
      [":method", options.method ?? "POST"],
      [":path", options.path ?? "/v1/chat/completions"],
      [":authority", "llm.example"],
      ["content-type", "application/json"],
      ["content-length", String(bytes.length)],
      ["x-request-id", `${Math.random()}`],
    ];
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      const at = headers.findIndex(([known]) => known === name);
      if (at >= 0) headers.splice(at, 1);
      headers.push([name, value]);
    }
    stream.requestHeaders(headers, bytes.length === 0);
    const size = options.chunk ?? Math.max(bytes.length, 1);
    for (let at = 0; at < bytes.length; at += size) {
      stream.requestBody(bytes.subarray(at, at + size), at + size >= bytes.length);
    }
    return new Exchange(this, stream);
  }

  /** A statistic of the filter, by its name in Envoy. */
  stat(name: string): number {
    const metrics = this.host.metrics;
    return metrics.counter(`warmroute.${name}`) ?? metrics.gauge(`warmroute.${name}`) ?? 0;
  }

  /** Requests in flight at a host, as the gauge shows it. */
  inFlight(host: string): number {
    return this.stat(`in_flight.host.${host}`);
  }
}

/** One request and what becomes of it. */
export class Exchange {
  readonly gateway: Gateway;
  readonly stream: Stream;

  constructor(gateway: Gateway, stream: Stream) {
    this.gateway = gateway;
    this.stream = stream;
  }

  /** The hosts that the filter named, best first. */
  get choice(): string[] {
    const value = this.stream.headers.get("x-gateway-destination-endpoint");
    return value ? value.split(",") : [];
  }

  /** The first of them. */
  get target(): string | undefined {
    return this.choice[0];
  }

  /** Begins the answer: its headers. */
  begin(options: AnswerOptions = {}): this {
    this.stream.upstreamAddress = options.host ?? this.target;
    this.stream.responseHeaders(
      Object.entries({
        ":status": String(options.status ?? 200),
        "content-type": "application/json",
        ...options.headers,
      }),
    );
    return this;
  }

  /** Ends the answer: its body. */
  end(options: AnswerOptions = {}): this {
    // As predicted, unless the test says otherwise: then the filter learns nothing odd from it.
    const promptTokens = Number(
      this.stream.property("warmroute.prompt_tokens") ?? this.debug("prompt-tokens") ?? 20,
    );
    const cachedTokens = Number(this.debug("cached-tokens") ?? 0);
    this.stream.responseBody(
      options.body ?? usageBody({ promptTokens, cachedTokens, ...options }),
      true,
    );
    return this;
  }

  /** The whole answer. */
  answer(options: AnswerOptions = {}): this {
    return this.begin(options).end(options);
  }

  /** A debug header of the answer. */
  debug(name: string): string | undefined {
    return this.stream.response.headers.get(`x-warmroute-${name}`);
  }
}

function usageBody(options: AnswerOptions): string {
  return JSON.stringify({
    id: options.id ?? "chatcmpl-1",
    choices: [{ message: { role: "assistant", content: "ok" } }],
    usage: {
      prompt_tokens: options.promptTokens ?? 20,
      completion_tokens: options.completionTokens ?? 20,
      prompt_tokens_details: { cached_tokens: options.cachedTokens ?? 0 },
    },
  });
}

/** A chat body. */
export function chat(text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: "m1", messages: [{ role: "user", content: text }], ...more };
}

/** Addresses 10.0.0.1:8000 … */
export function hostNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.0.0.${i + 1}:8000`);
}

/** How often each value occurs. */
export function tally(values: Iterable<string | undefined>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(`${value}`, (counts.get(`${value}`) ?? 0) + 1);
  return counts;
}

let asked = 0;

/** All servers that a choice names, sorted. */
export function listed(gateway: Gateway, model = "m1"): string[] {
  const exchange = gateway.send(chat(`who is there ${asked++ * 7919}`, { model }));
  exchange.answer();
  return exchange.choice.sort();
}
