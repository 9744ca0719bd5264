import type { EngineReport, Sequence } from "../llm/model.ts";
import type { Runs } from "../llm/runs.ts";
import type { Prediction } from "./outcome.ts";
import type { Random } from "./random.ts";
import type { WorkRequest } from "./workload.ts";

/** `choose` answers with a server's index or one of these. */
export const HELD = -1;
export const REJECTED = -2;

/** True state of a server: only for what sees it in life (KV events) and for the oracle. */
export interface ServerTruth {
  /** Tokens of the prompt that are cached there now. */
  cachedTokens(request: Pick<WorkRequest, "promptTokens" | "blocks">): number;
  /** Requests there, running ones first. */
  sequences(): Iterable<Sequence>;
  running(): number;
  waiting(): number;
  /** Running requests' tokens in the cache, share of it, 0..1. */
  kvUsage(): number;
  /** When the step under way ends; infinite when idle. */
  stepEndMs(): number;
  slowFactor(): number;
  cacheTokens(): number;
}

/** What a policy gets to know about the world; each gateway has its own. */
export interface PolicyContext {
  /** This gateway's number, 0 … gateways − 1. */
  gateway: number;
  gateways: number;
  servers: number;
  seed: number;
  random: Random;
  /** Whether a health check, or this request's own failed attempt, speaks against the server. */
  usable(server: number): boolean;
  /** What the server said at the last scrape, by `pollMs`; undefined before the first. */
  report(server: number): EngineReport | undefined;
  truth(server: number): ServerTruth;
  /** The text of the server's /metrics now; undefined when it is dead. */
  metrics(server: number): string | undefined;
  nowMs(): number;
  /** Common to all gateways: a Redis. */
  shared: Map<string, unknown>;
  /** Sends a held request. */
  send(request: WorkRequest, server: number): void;
  /** Answers a held request with 429. */
  reject(request: WorkRequest): void;
  /** Tells what was expected of a request. */
  predicted(request: WorkRequest, prediction: Prediction): void;
  /** Calls back later. */
  at(timeMs: number, call: (nowMs: number) => void): void;
}

/** One gateway's way of choosing a server. */
export interface Policy {
  /** Scrapes of all servers; 0 for none. */
  readonly pollMs: number;
  /** `attempt` counts the request's failed attempts. */
  choose(request: WorkRequest, nowMs: number, attempt: number): number;
  /** The server has taken the request, now or soon after `choose` or `send`. */
  onAccepted?(request: WorkRequest, server: number, nowMs: number): void;
  onFirstToken?(request: WorkRequest, server: number, nowMs: number): void;
  onFinish?(request: WorkRequest, server: number, nowMs: number, cachedTokens: number): void;
  /** The attempt failed; another choice follows. */
  onFailure?(request: WorkRequest, server: number, nowMs: number): void;
  /** The run is over. */
  close?(): void;
}

export type PolicyFactory = (context: PolicyContext) => Policy;

/** Usable servers, all of them if none is. */
export function usableServers(context: PolicyContext): number[] {
  const all = Array.from({ length: context.servers }, (_, server) => server);
  const usable = all.filter((server) => context.usable(server));
  return usable.length > 0 ? usable : all;
}

/** The one with the lowest cost; ties by chance. */
export function cheapest(
  servers: readonly number[],
  cost: (server: number) => number,
  random: Random,
): number {
  let best: number[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const server of servers) {
    const its = cost(server);
    if (its < least) {
      least = its;
      best = [server];
    } else if (its === least) {
      best.push(server);
    }
  }
  return random.pick(best.length > 0 ? best : servers);
}

/** Requests in flight per server, as one gateway counts them. */
export class InFlight {
  readonly counts: number[];

  constructor(servers: number) {
    this.counts = new Array<number>(servers).fill(0);
  }

  of(server: number): number {
    return this.counts[server] ?? 0;
  }

  add(server: number, change: 1 | -1): void {
    this.counts[server] = this.of(server) + change;
  }
}

/** The id at position `block`; −1 beyond the end. */
export function blockAt(runs: Runs, block: number): number {
  let left = block;
  for (let i = 0; i < runs.length; i += 2) {
    const count = runs[i + 1] as number;
    if (left < count) return (runs[i] as number) + left;
    left -= count;
  }
  return -1;
}

/** 32 well mixed bits of a text, for rings. */
export function hash32(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
