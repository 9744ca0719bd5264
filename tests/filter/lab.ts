import { Engine } from "../llm/engine.ts";
import { metricsText } from "../llm/metrics.ts";
import type { EngineOptions, Sequence } from "../llm/model.ts";
import type { Runs } from "../llm/runs.ts";
import { type Exchange, Gateway, type GatewayOptions, hostNames } from "./gateway.ts";

/** One request as client, filter and engine see it. */
export interface Job {
  /** From the run's start, ms. */
  atMs: number;
  body: Record<string, unknown>;
  promptTokens: number;
  outputTokens: number;
  blocks?: Runs;
  worker?: number;
  path?: string;
}

/** What became of a job. */
export interface Result {
  job: Job;
  host: string;
  /** Time to the first token as the engine made it, ms. */
  ttftMs: number;
  cachedTokens: number;
  exchange: Exchange;
}

/** Servers over the engine model behind one gateway, in virtual time. Each answers with the usage that its engine counted. */
export class Lab {
  readonly gateway: Gateway;
  readonly engines: Engine[] = [];
  readonly hosts: string[];
  private readonly startMs: number;
  private readonly open = new Map<Sequence, { job: Job; exchange: Exchange; host: string }>();
  private results: Result[] = [];
  private serial = 0;

  /** @param engines one a server */
  constructor(engines: Partial<EngineOptions>[], options: GatewayOptions = {}) {
    this.hosts = hostNames(engines.length);
    engines.forEach((engine, server) => {
      this.engines.push(this.engine(engine, server));
    });
    this.gateway = new Gateway(this.hosts, {
      ...options,
      // What is sent goes at once: jobs are for what is learned of servers.
      config: { metrics: { interval_ms: 500 }, admission: { enabled: false }, ...options.config },
      onCall: (call) => {
        const server = this.hosts.indexOf(call.headers.get(":authority") ?? "");
        const engine = this.engines[server] as Engine;
        if (!engine.alive) return call.refuse();
        const processStartSeconds = 1_700_000_000 + engine.startedAtMs / 1000;
        call.respond(200, metricsText(engine, { model: "m1", processStartSeconds }));
      },
    });
    this.startMs = this.gateway.clock.ms;
  }

  /** Engine time, ms. */
  get nowMs(): number {
    return this.gateway.clock.ms - this.startMs;
  }

  /** Runs jobs to their ends; results in the order of the ends. */
  run(jobs: Job[]): Result[] {
    this.results = [];
    const fromMs = this.nowMs;
    const left = [...jobs].sort((a, b) => a.atMs - b.atMs);
    while (left.length > 0 || this.open.size > 0) {
      const arrivalMs = left[0] ? fromMs + left[0].atMs : Number.POSITIVE_INFINITY;
      const engine = this.engines.reduce((a, b) => (b.nextEventMs() < a.nextEventMs() ? b : a));
      const nextMs = Math.min(arrivalMs, engine.nextEventMs());
      if (nextMs === Number.POSITIVE_INFINITY) throw new Error("an engine lost a request");
      this.wait(nextMs - this.nowMs);
      if (engine.nextEventMs() <= nextMs) engine.advance(nextMs);
      else this.submit(left.shift() as Job);
    }
    return this.results;
  }

  /** Lets time pass. */
  wait(ms: number): void {
    if (ms > 0) this.gateway.host.advance(ms);
  }

  private submit(job: Job): void {
    const { gateway } = this;
    const options = { worker: job.worker ?? 0, ...(job.path ? { path: job.path } : {}) };
    const exchange = gateway.send(job.body, options);
    const host = exchange.target ?? (this.hosts[0] as string);
    const engine = this.engines[this.hosts.indexOf(host)] as Engine;
    const { promptTokens, outputTokens, blocks = [] } = job;
    const request = { id: this.serial++, promptTokens, outputTokens, blocks };
    const sequence = engine.submit(request, this.nowMs);
    this.open.set(sequence, { job, exchange, host });
  }

  private engine(options: Partial<EngineOptions>, server: number): Engine {
    return new Engine(
      {
        onFirstToken: (sequence) => {
          const { job, exchange } = this.find(sequence);
          if (job.body.stream !== true) return;
          this.begin(exchange, server, "text/event-stream");
          exchange.stream.responseBody('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
        },
        onFinish: (sequence) => this.finish(sequence, server),
      },
      options,
    );
  }

  private begin(exchange: Exchange, server: number, type: string): void {
    exchange.stream.upstreamAddress = this.hosts[server];
    exchange.stream.responseHeaders([
      [":status", "200"],
      ["content-type", type],
    ]);
  }

  private finish(sequence: Sequence, server: number): void {
    const { job, exchange, host } = this.find(sequence);
    this.open.delete(sequence);
    const usage = JSON.stringify({
      prompt_tokens: job.promptTokens,
      completion_tokens: sequence.generatedTokens,
      prompt_tokens_details: { cached_tokens: sequence.cachedTokens },
    });
    if (job.body.stream === true) {
      const last = `data: {"choices":[],"usage":${usage}}\n\ndata: [DONE]\n\n`;
      exchange.stream.responseBody(last, true);
    } else {
      this.begin(exchange, server, "application/json");
      exchange.stream.responseBody(`{"id":"c","choices":[],"usage":${usage}}`, true);
    }
    const ttftMs = sequence.firstTokenMs - sequence.arrivedMs;
    this.results.push({ job, host, ttftMs, cachedTokens: sequence.cachedTokens, exchange });
  }

  private find(sequence: Sequence): { job: Job; exchange: Exchange; host: string } {
    const found = this.open.get(sequence);
    if (!found) throw new Error("an engine tells of an unknown request");
    return found;
  }
}

/** Text of about so many bytes, of its own. */
export function prose(bytes: number, next: () => number): string {
  let text = "";
  while (text.length < bytes) text += `${Math.floor(next() * 1e9).toString(36)} `;
  return text.slice(0, bytes);
}

/** Value below which a share of the values lies. */
export function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
