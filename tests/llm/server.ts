import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { EngineDriver } from "./driver.ts";
import { readBody, sendJson, strike } from "./exchange.ts";
import { type Fault, type FaultScope, Faults } from "./faults.ts";
import { Inference } from "./inference.ts";
import { type MetricsDialect, metricsText } from "./metrics.ts";
import type { EngineOptions } from "./model.ts";
import { apiOf } from "./prompt.ts";

export interface LlmServerOptions {
  host: string;
  /** 0 takes any free one. */
  port: number;
  model: string;
  /** Engine time runs this many times as fast as the wall clock. */
  timeScale: number;
  dialect: MetricsDialect;
  engine: Partial<EngineOptions>;
  /** Tokens in one streamed event; the first always comes alone. */
  chunkTokens: number;
  /** Streamed answers send their headers at once, or with the first token. */
  headersAt: "accept" | "first_token";
}

export const DEFAULT_SERVER: Readonly<LlmServerOptions> = {
  host: "127.0.0.1",
  port: 0,
  model: "test-model",
  timeScale: 1,
  dialect: "vllm",
  engine: {},
  chunkTokens: 1,
  headersAt: "accept",
};

/** What one server has seen; requests are inference requests. */
export interface ServerStats {
  requests: number;
  answered: number;
  aborted: number;
  others: number;
  scrapes: number;
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
}

/** Inference bodies above this are refused with 413, as they are held in memory. */
const MAX_INFERENCE_BYTES = 256 * 1024 * 1024;

/** What is about one stored answer. */
const STORED = "/v1/responses/";

/** An LLM server over the engine model: OpenAI, Anthropic and engine-native endpoints on HTTP. */
export class LlmServer {
  readonly options: LlmServerOptions;
  readonly driver: EngineDriver;
  readonly stats: ServerStats = newStats();
  readonly faults = new Faults();
  port = 0;
  private readonly inference: Inference;
  private readonly http: Server;
  private readonly sockets = new Set<Socket>();
  private startedSeconds = Date.now() / 1000;
  private revival: NodeJS.Timeout | undefined;

  constructor(options: Partial<LlmServerOptions> = {}) {
    this.options = { ...DEFAULT_SERVER, ...options };
    this.driver = new EngineDriver(this.options.engine, this.options.timeScale);
    this.inference = new Inference(this.driver, this.options, this.stats);
    this.http = createServer({ requestTimeout: 0 }, (request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
    this.http.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("close", () => this.sockets.delete(socket));
    });
  }

  /** `ip:port`, as routers name it. */
  get address(): string {
    return `${this.options.host}:${this.port}`;
  }

  async listen(): Promise<void> {
    this.http.listen(this.port || this.options.port, this.options.host);
    await once(this.http, "listening");
    this.port = (this.http.address() as AddressInfo).port;
  }

  /** The process dies: connections break, the port is closed, the cache is lost. */
  async kill(reviveAfterMs?: number): Promise<void> {
    clearTimeout(this.revival);
    const closed = this.close();
    this.driver.kill();
    this.inference.forget();
    await closed;
    if (reviveAfterMs !== undefined) {
      this.revival = setTimeout(() => void this.revive(), reviveAfterMs);
    }
  }

  /** Listens again on the same port, with an empty cache and counters at zero. */
  async revive(): Promise<void> {
    this.driver.restart();
    this.startedSeconds = Date.now() / 1000;
    await this.listen();
  }

  async stop(): Promise<void> {
    clearTimeout(this.revival);
    this.driver.stop();
    await this.close();
  }

  private async close(): Promise<void> {
    if (!this.http.listening) return;
    const closed = once(this.http, "close");
    this.http.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("x-served-by", this.address);
    const path = (request.url ?? "/").split("?")[0] as string;
    if (path === "/__fault" || path === "/__stats") {
      await this.administer(path, request, response);
      return;
    }
    const api = request.method === "POST" ? apiOf(path) : undefined;
    const scope: FaultScope =
      api !== undefined ? "inference" : path === "/metrics" ? "metrics" : scopeOf(path);
    if (scope === "metrics") this.stats.scrapes += 1;
    const fault = this.faults.take(scope, performance.now());
    if (fault !== undefined && (await strike(fault, request, response))) return;
    if (api !== undefined) {
      this.stats.requests += 1;
      const body = await readBody(request, response, MAX_INFERENCE_BYTES);
      if (body === null) sendJson(response, 413, { error: { message: "body too large" } });
      else this.inference.serve(api, body, request, response, fault);
      return;
    }
    await this.serveOther(path, request, response);
  }

  private async serveOther(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    await readBody(request, response, 0);
    switch (path) {
      case "/metrics": {
        const identity = {
          model: this.options.model,
          processStartSeconds: this.startedSeconds,
        };
        this.driver.engine.advance(this.driver.nowMs());
        const text = metricsText(this.driver.engine, identity, this.options.dialect);
        response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
        response.end(text);
        return;
      }
      case "/health":
        response.writeHead(200).end();
        return;
      case "/v1/models":
        sendJson(response, 200, {
          object: "list",
          data: [{ id: this.options.model, object: "model", owned_by: "test" }],
        });
        return;
      default:
        if (path.startsWith(STORED)) {
          const id = path.slice(STORED.length).split("/")[0] as string;
          if (this.inference.has(id)) sendJson(response, 200, { id, object: "response" });
          else sendJson(response, 404, { error: { message: `response ${id}: not found` } });
          return;
        }
        this.stats.others += 1;
        sendJson(response, 200, { method: request.method, path });
    }
  }

  private async administer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body = await readBody(request, response, 65_536);
    if (path === "/__stats") {
      sendJson(response, 200, { ...this.stats, ...this.driver.engine.counters });
      return;
    }
    const order = JSON.parse((body ?? Buffer.of()).toString()) as FaultOrder;
    sendJson(response, 200, { ok: true });
    if (order.kind === "clear") {
      this.faults.clear();
      this.driver.engine.options.slowFactor = this.options.engine.slowFactor ?? 1;
    } else if (order.kind === "slow") {
      this.driver.engine.options.slowFactor = order.factor;
    } else if (order.kind === "kill") {
      response.on("finish", () => void this.kill(order.forMs));
    } else {
      this.faults.add(order, performance.now());
    }
  }
}

/** What `POST /__fault` takes. A killed server without `forMs` stays dead. */
export type FaultOrder =
  | Fault
  | { kind: "clear" }
  | { kind: "slow"; factor: number }
  | { kind: "kill"; forMs?: number };

function scopeOf(path: string): FaultScope {
  return path === "/health" ? "health" : "other";
}

function newStats(): ServerStats {
  return {
    requests: 0,
    answered: 0,
    aborted: 0,
    others: 0,
    scrapes: 0,
    promptTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
  };
}
