import { existsSync, readFileSync } from "node:fs";
import { WASM } from "../../../tools/paths.ts";
import { type Configuration, merge } from "../../config/merge.ts";
import type { Call } from "../../host/calls.ts";
import type { Stream } from "../../host/stream.ts";
import { chatBody } from "../body.ts";
import { FilterHost, isSettled } from "../filter.ts";
import { GOOD_NETWORK, type PeerNetwork, type PeerTally } from "../peers.ts";
import {
  HELD,
  type Policy,
  type PolicyContext,
  type PolicyFactory,
  REJECTED,
  usableServers,
} from "../policy.ts";
import type { WorkRequest } from "../workload.ts";
import { CHOICE_HEADER, PEER_CLUSTER, PeerLinks } from "./peerlinks.ts";

const CHAT_PATH = "/v1/chat/completions";

/** One way between a gateway and a server. */
const SCRAPE_MS = 1;

export interface WarmrouteOptions {
  workers: number;
  /** Laid over the configuration, section by section. */
  config: object;
  /** What clients send besides. */
  headers?: (request: WorkRequest) => [string, string][];
  /** What goes wrong between gateways. */
  network?: PeerNetwork;
  /** Gets what gateways sent each other. */
  tally?: PeerTally;
}

/** The shipped filter, reading real bodies in the test host. */
export function warmroute(options: WarmrouteOptions): PolicyFactory {
  let module: WebAssembly.Module | undefined;
  return (context) => {
    if (!existsSync(WASM)) throw new Error(`${WASM} isn't there: npm run build`);
    module ??= new WebAssembly.Module(readFileSync(WASM));
    return new WarmroutePolicy(context, options, module);
  };
}

/** One request on its way: the stream in the filter, and the servers that may have it. */
interface Trip {
  request: WorkRequest;
  filter: FilterHost;
  stream: Stream;
  servers: number[];
  /** Which of `servers` was tried last. */
  at: number;
  answered: boolean;
}

function serverAddress(server: number): string {
  return `10.0.${server >> 8}.${server & 255}:8000`;
}

class WarmroutePolicy implements Policy {
  /** The filter scrapes by itself. */
  readonly pollMs = 0;
  private filter: FilterHost;
  private readonly context: PolicyContext;
  private readonly headers: (request: WorkRequest) => [string, string][];
  private readonly trips = new Map<number, Trip>();
  private readonly tripOf = new Map<Stream, Trip>();
  private readonly servers = new Map<string, number>();
  private readonly links: PeerLinks;

  constructor(context: PolicyContext, options: WarmrouteOptions, module: WebAssembly.Module) {
    this.context = context;
    this.headers = options.headers ?? (() => []);
    const network = options.network ?? GOOD_NETWORK;
    const tally = options.tally ?? { messages: 0, bytes: 0 };
    this.links = new PeerLinks(context, network, tally, () => this.filter);
    for (let i = 0; i < context.servers; i += 1) this.servers.set(serverAddress(i), i);
    const config = merge(this.config(), { ...options.config });
    const start = (startMs: number): FilterHost => {
      const filter: FilterHost = new FilterHost(
        { module, config, workers: options.workers, startMs },
        {
          at: (timeMs, call) => context.at(timeMs, call),
          onCall: (call) => this.answer(call, filter),
          onSettled: (stream, nowMs) => this.settled(stream, nowMs),
        },
      );
      return filter;
    };
    this.filter = start(context.random.next() * 50);
    const restartMs = network.restartMs.get(context.gateway);
    if (restartMs !== undefined) {
      // As a hot restart does: what is under way ends where it began.
      context.at(restartMs, (nowMs) => {
        this.filter = start(nowMs);
      });
    }
  }

  choose(request: WorkRequest, nowMs: number, attempt: number): number {
    const earlier = this.trips.get(request.id);
    if (attempt > 0 && earlier !== undefined) {
      const next = this.fallBack(earlier, nowMs);
      if (next !== HELD) return next;
    }
    return this.start(request, nowMs);
  }

  /** A streamed answer's headers come before its first token, as vLLM sends them. */
  onAccepted(request: WorkRequest, server: number, nowMs: number): void {
    const trip = this.trips.get(request.id);
    if (trip !== undefined) trip.filter.act(nowMs, () => this.begin(trip, server));
  }

  onFirstToken(request: WorkRequest, server: number, nowMs: number): void {
    const trip = this.trips.get(request.id);
    if (trip === undefined) return;
    trip.filter.act(nowMs, () => {
      this.begin(trip, server);
      trip.stream.responseBody(chunk({ choices: [{ index: 0, delta: { content: "a" } }] }));
    });
  }

  onFinish(request: WorkRequest, server: number, nowMs: number, cachedTokens: number): void {
    const trip = this.trips.get(request.id);
    if (trip === undefined) return;
    const usage = {
      prompt_tokens: request.promptTokens,
      total_tokens: request.promptTokens + request.outputTokens,
      completion_tokens: request.outputTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
    };
    trip.filter.act(nowMs, () => {
      this.begin(trip, server);
      const end = chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
      trip.stream.responseBody(`${end}${chunk({ choices: [], usage })}data: [DONE]\n\n`, true);
      trip.stream.done();
    });
    this.context.predicted(request, {
      promptTokens: told(trip.stream, "prompt_tokens"),
      outputTokens: told(trip.stream, "output_tokens"),
    });
    this.forget(trip);
  }

  onFailure(request: WorkRequest, _server: number, nowMs: number): void {
    const trip = this.trips.get(request.id);
    if (trip === undefined || !trip.answered) return;
    // Broken in the middle: the client will send it anew.
    trip.filter.act(nowMs, () => trip.stream.upstreamReset());
    this.forget(trip);
  }

  close(): void {
    this.filter.close();
  }

  private config(): Configuration {
    const peers = this.links.others;
    return {
      hosts: [...this.servers.keys()],
      ...(peers.length > 0 ? { peers: { cluster: PEER_CLUSTER, hosts: peers } } : {}),
    };
  }

  private start(request: WorkRequest, nowMs: number): number {
    const worker = this.context.random.below(this.filter.workers);
    const stream = this.filter.request(
      worker,
      CHAT_PATH,
      chatBody(request),
      nowMs,
      this.headers(request),
    );
    const trip = this.keep(request, stream);
    return isSettled(stream) ? this.read(trip) : HELD;
  }

  private keep(request: WorkRequest, stream: Stream): Trip {
    const { filter } = this;
    const trip: Trip = { request, filter, stream, servers: [], at: 0, answered: false };
    this.trips.set(request.id, trip);
    this.tripOf.set(stream, trip);
    return trip;
  }

  /** A held stream was let go or answered. */
  private settled(stream: Stream, nowMs: number): void {
    if (this.links.settled(stream, nowMs)) return;
    const trip = this.tripOf.get(stream);
    if (trip === undefined) return;
    const server = this.read(trip);
    if (server === REJECTED) this.context.reject(trip.request);
    else this.context.send(trip.request, server);
  }

  /** The choice in the header; without one it is Envoy's own, any server. */
  private read(trip: Trip): number {
    if (trip.stream.localReply !== undefined) {
      this.forget(trip);
      return REJECTED;
    }
    const list = trip.stream.headers.get(CHOICE_HEADER) ?? "";
    for (const address of list.split(",")) {
      const server = this.servers.get(address);
      if (server !== undefined) trip.servers.push(server);
    }
    if (trip.servers.length === 0) {
      trip.servers.push(this.context.random.pick(usableServers(this.context)));
    }
    return trip.servers[0] as number;
  }

  private begin(trip: Trip, server: number): void {
    if (trip.answered) return;
    trip.answered = true;
    trip.stream.upstreamAddress = serverAddress(server);
    trip.stream.responseHeaders([
      [":status", "200"],
      ["content-type", "text/event-stream; charset=utf-8"],
    ]);
  }

  /** Envoy's retry: the next of the list, then 503 and the client tries again. */
  private fallBack(trip: Trip, nowMs: number): number {
    trip.at += 1;
    const next = trip.servers[trip.at];
    if (next !== undefined) return next;
    trip.filter.act(nowMs, () => trip.stream.upstreamReset());
    this.forget(trip);
    return HELD;
  }

  private forget(trip: Trip): void {
    this.trips.delete(trip.request.id);
    this.tripOf.delete(trip.stream);
  }

  /** Calls of the filter: scrapes and messages to other gateways. */
  private answer(call: Call, by: FilterHost): void {
    if (call.cluster === PEER_CLUSTER) {
      this.links.send(call, by);
      return;
    }
    const server = this.servers.get(call.headers.get(CHOICE_HEADER) ?? "");
    this.context.at(this.context.nowMs() + SCRAPE_MS, (nowMs) => {
      const text = server === undefined ? undefined : this.context.metrics(server);
      by.act(nowMs, () => {
        if (text === undefined) call.refuse();
        else call.respond(200, text);
      });
    });
  }
}

/** A number that the filter leaves for access logs. */
function told(stream: Stream, name: string): number {
  return Number(stream.property(`warmroute.${name}`) ?? Number.NaN);
}

function chunk(value: object): string {
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", model: "sim-model" };
  return `data: ${JSON.stringify({ ...head, ...value })}\n\n`;
}
