import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** What a sink saw of a request, and what it answers as JSON. */
export interface Seen {
  host: string;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  bytes: number;
  sha256: string;
}

/** An upstream that takes anything and answers what it got. */
export interface Sink {
  /** `127.0.0.1:port` */
  host: string;
  seen: Seen[];
  /** What it answers from now on instead of 200. */
  status: number;
  /** Whether its health check is answered 200 from now on, or 503. */
  healthy: boolean;
  /** Closes each connection at the request's end without an answer. */
  reset: boolean;
  stop(): Promise<void>;
}

/** Starts sinks on free loopback ports. `/health` and `/metrics` are answered and not recorded. */
export function startSinks(count: number): Promise<Sink[]> {
  return Promise.all(Array.from({ length: count }, startSink));
}

async function startSink(): Promise<Sink> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((request, response) => {
    const hash = createHash("sha256");
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      hash.update(chunk);
      bytes += chunk.length;
    });
    request.on("end", () => {
      const path = request.url ?? "";
      if (path === "/health" || path === "/metrics") {
        if (path === "/health" && !sink.healthy) response.statusCode = 503;
        response.end("vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n");
        return;
      }
      const { method = "", headers } = request;
      const sha256 = hash.digest("hex");
      const seen: Seen = { host: sink.host, method, path, headers, bytes, sha256 };
      sink.seen.push(seen);
      if (sink.reset) {
        request.socket.destroy();
        return;
      }
      response.writeHead(sink.status, { "content-type": "application/json" });
      response.end(JSON.stringify(seen));
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sink: Sink = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    status: 200,
    healthy: true,
    reset: false,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return sink;
}
