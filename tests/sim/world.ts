import { Engine } from "../llm/engine.ts";
import type { EngineOptions, EngineReport, Sequence } from "../llm/model.ts";
import { TimeHeap } from "./heap.ts";
import type { LoadSample, Outcome, RunResult } from "./outcome.ts";
import { HELD, type Policy, type PolicyContext, type PolicyFactory, REJECTED } from "./policy.ts";
import { Random } from "./random.ts";
import { serverMetrics, serverTruth } from "./truth.ts";
import type { Workload, WorkRequest } from "./workload.ts";

/** A server that is away from one share of the run to another, 0..1. */
export interface Outage {
  server: number;
  from: number;
  to: number;
}

export interface WorldOptions {
  servers: number;
  gateways: number;
  seed: number;
  engine: Partial<EngineOptions>;
  /** Slow factor of single servers. */
  slow: ReadonlyMap<number, number>;
  outages: readonly Outage[];
  /** Told each simulated second or so. */
  onProgress?: (done: number, total: number, nowMs: number) => void;
}

/** A request is given up after so many failed attempts. */
const MAX_ATTEMPTS = 4;
/** A gateway's health checks see a server die or return after at most this. */
const HEALTH_CHECK_MS = 1000;
/** A client whose request broke sends it again after this. */
const RESEND_MS = 10;
const LOAD_SAMPLES = 240;

interface Gateway {
  policy: Policy;
  reports: (EngineReport | undefined)[];
}

/** Servers, gateways and clients in virtual time: one run of one policy. */
export class World {
  private readonly options: WorldOptions;
  private readonly workload: Workload;
  private readonly name: string;
  private readonly events = new TimeHeap<(nowMs: number) => void>();
  private readonly engines: Engine[] = [];
  private readonly gateways: Gateway[] = [];
  private readonly outcomes: Outcome[];
  private readonly followers = new Map<number, WorkRequest[]>();
  private readonly healthy: boolean[];
  private readonly excluded = new Set<number>();
  private readonly loads: LoadSample[] = [];
  private open: number;
  private nowMs = 0;

  constructor(name: string, factory: PolicyFactory, workload: Workload, options: WorldOptions) {
    this.name = name;
    this.options = options;
    this.workload = workload;
    this.open = workload.requests.length;
    this.healthy = new Array<boolean>(options.servers).fill(true);
    for (let server = 0; server < options.servers; server += 1) this.addServer(server);
    const shared = new Map<string, unknown>();
    for (let gateway = 0; gateway < options.gateways; gateway += 1) {
      this.addGateway(gateway, factory, shared);
    }
    const routes = new Random(options.seed, "routes");
    this.outcomes = workload.requests.map((request) => ({
      request,
      gateway: routes.below(options.gateways),
      server: -1,
      arrivedMs: Number.NaN,
      firstTokenMs: Number.NaN,
      finishedMs: Number.NaN,
      cachedTokens: 0,
      failures: 0,
      state: "open",
    }));
    this.addArrivals();
  }

  /** Runs until each request has ended. */
  run(): RunResult {
    const startedMs = performance.now();
    let reported = 0;
    while (this.open > 0) {
      const engine = this.nextEngine();
      const stepMs = engine?.nextEventMs() ?? Number.POSITIVE_INFINITY;
      if (stepMs <= this.events.nextMs) {
        if (engine === undefined) break;
        this.nowMs = stepMs;
        engine.advance(stepMs);
      } else {
        this.nowMs = this.events.nextMs;
        this.events.pop()?.(this.nowMs);
      }
      const second = Math.floor(this.nowMs / 1000);
      if (second > reported) {
        reported = second;
        const total = this.outcomes.length;
        this.options.onProgress?.(total - this.open, total, this.nowMs);
      }
    }
    for (const { policy } of this.gateways) policy.close?.();
    return {
      policy: this.name,
      servers: this.options.servers,
      gateways: this.options.gateways,
      outcomes: this.outcomes,
      loads: this.loads,
      busyMs: this.engines.map((engine) => engine.counters.busyMs),
      wallMs: performance.now() - startedMs,
    };
  }

  private nextEngine(): Engine | undefined {
    let next: Engine | undefined;
    let leastMs = Number.POSITIVE_INFINITY;
    for (const engine of this.engines) {
      const ms = engine.nextEventMs();
      if (ms < leastMs) {
        leastMs = ms;
        next = engine;
      }
    }
    return next;
  }

  private addServer(server: number): void {
    const slowFactor = this.options.slow.get(server) ?? 1;
    const engine = new Engine(
      {
        onFirstToken: (sequence, nowMs) => {
          const outcome = this.outcomeOf(sequence);
          outcome.firstTokenMs = nowMs;
          this.policyOf(outcome).onFirstToken?.(outcome.request, server, nowMs);
        },
        onFinish: (sequence, nowMs) => this.finish(sequence, server, nowMs),
        onAbort: (sequence, nowMs, cause) => {
          const outcome = this.outcomeOf(sequence);
          if (cause === "too_long") this.end(outcome, "failed", nowMs);
          else this.fail(outcome, server, nowMs, RESEND_MS);
        },
      },
      { ...this.options.engine, slowFactor },
    );
    this.engines.push(engine);
  }

  private addGateway(gateway: number, factory: PolicyFactory, shared: Map<string, unknown>): void {
    const { servers, seed, gateways } = this.options;
    const reports = new Array<EngineReport | undefined>(servers).fill(undefined);
    const context: PolicyContext = {
      gateway,
      gateways,
      servers,
      seed,
      random: new Random(seed, `gateway ${gateway}`),
      usable: (server) => (this.healthy[server] as boolean) && !this.excluded.has(server),
      report: (server) => reports[server],
      truth: (server) => serverTruth(this.engines[server] as Engine),
      metrics: (server) => serverMetrics(this.engines[server] as Engine),
      nowMs: () => this.nowMs,
      shared,
      send: (request, server) => this.send(this.outcomes[request.id] as Outcome, server),
      reject: (request) => this.end(this.outcomes[request.id] as Outcome, "rejected", this.nowMs),
      predicted: (request, prediction) => {
        (this.outcomes[request.id] as Outcome).predicted = prediction;
      },
      at: (timeMs, call) => this.events.push(Math.max(timeMs, this.nowMs), call),
    };
    const policy = factory(context);
    this.gateways.push({ policy, reports });
    if (policy.pollMs > 0) {
      const scrape = (nowMs: number): void => {
        for (const [server, engine] of this.engines.entries()) {
          if (engine.alive) reports[server] = { ...engine.report };
        }
        this.events.push(nowMs + policy.pollMs, scrape);
      };
      this.events.push(context.random.next() * policy.pollMs, scrape);
    }
  }

  private addArrivals(): void {
    let endMs = 0;
    for (const request of this.workload.requests) {
      if (request.after < 0) {
        endMs = Math.max(endMs, request.atMs);
        this.events.push(request.atMs, (nowMs) => this.arrive(request, nowMs));
      } else {
        const followers = this.followers.get(request.after);
        if (followers === undefined) this.followers.set(request.after, [request]);
        else followers.push(request);
      }
    }
    for (const outage of this.options.outages) this.addOutage(outage, endMs);
    const everyMs = Math.max(100, endMs / LOAD_SAMPLES);
    const sample = (nowMs: number): void => {
      this.loads.push({
        atMs: nowMs,
        running: this.engines.map((engine) => engine.runningCount),
        waiting: this.engines.map((engine) => engine.waitingCount),
      });
      this.events.push(nowMs + everyMs, sample);
    };
    this.events.push(0, sample);
  }

  private addOutage({ server, from, to }: Outage, endMs: number): void {
    const engine = this.engines[server];
    if (engine === undefined) throw new RangeError(`outage: there is no server ${server}`);
    const seen = (healthy: boolean) => (): void => {
      this.healthy[server] = healthy;
    };
    const delayMs = HEALTH_CHECK_MS / 2;
    this.events.push(from * endMs, (nowMs) => engine.kill(nowMs));
    this.events.push(from * endMs + delayMs, seen(false));
    this.events.push(to * endMs, (nowMs) => engine.restart(nowMs));
    this.events.push(to * endMs + delayMs, seen(true));
  }

  private arrive(request: WorkRequest, nowMs: number): void {
    const outcome = this.outcomes[request.id] as Outcome;
    outcome.arrivedMs = nowMs;
    this.place(outcome, nowMs);
  }

  /** Asks the gateway's policy for a server; one that refuses the connection costs an attempt. */
  private place(outcome: Outcome, nowMs: number): void {
    const policy = this.policyOf(outcome);
    const chosen = policy.choose(outcome.request, nowMs, outcome.failures);
    if (chosen === REJECTED) this.end(outcome, "rejected", nowMs);
    else if (chosen !== HELD) this.send(outcome, chosen);
  }

  private send(outcome: Outcome, server: number): void {
    const engine = this.engines[server];
    if (engine === undefined) throw new RangeError(`${this.name} chose server ${server}`);
    if (!engine.alive) {
      this.fail(outcome, server, this.nowMs, 0);
      return;
    }
    outcome.server = server;
    engine.submit(outcome.request, this.nowMs);
    const policy = this.policyOf(outcome);
    if (policy.onAccepted === undefined) return;
    this.events.push(this.nowMs, (nowMs) => {
      if (outcome.server === server) policy.onAccepted?.(outcome.request, server, nowMs);
    });
  }

  private fail(outcome: Outcome, server: number, nowMs: number, afterMs: number): void {
    outcome.failures += 1;
    outcome.server = -1;
    outcome.firstTokenMs = Number.NaN;
    this.policyOf(outcome).onFailure?.(outcome.request, server, nowMs);
    if (outcome.failures >= MAX_ATTEMPTS) {
      this.end(outcome, "failed", nowMs);
      return;
    }
    this.events.push(nowMs + afterMs, (retryMs) => {
      this.excluded.add(server);
      this.place(outcome, retryMs);
      this.excluded.clear();
    });
  }

  private finish(sequence: Sequence, server: number, nowMs: number): void {
    const outcome = this.outcomeOf(sequence);
    if (Number.isNaN(outcome.firstTokenMs)) outcome.firstTokenMs = nowMs;
    outcome.cachedTokens = sequence.cachedTokens;
    this.policyOf(outcome).onFinish?.(outcome.request, server, nowMs, sequence.cachedTokens);
    this.end(outcome, "done", nowMs);
  }

  private end(outcome: Outcome, state: "done" | "rejected" | "failed", nowMs: number): void {
    outcome.state = state;
    outcome.finishedMs = nowMs;
    this.open -= 1;
    for (const follower of this.followers.get(outcome.request.id) ?? []) {
      this.events.push(nowMs + follower.atMs, (atMs) => this.arrive(follower, atMs));
    }
  }

  private outcomeOf(sequence: Sequence): Outcome {
    return this.outcomes[sequence.request.id] as Outcome;
  }

  private policyOf(outcome: Outcome): Policy {
    return (this.gateways[outcome.gateway] as Gateway).policy;
  }
}
