import { once } from "node:events";
import { createServer } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import type { AddressInfo, Socket } from "node:net";

/** Streams of one connection; as many connections are opened as it takes. */
const STREAMS_PER_CONNECTION = 100;
/** A token each so many milliseconds, in each answer. */
const TOKEN_MS = 5000;
/** Requests that are on their way to their first token at once. */
const OPENING = 200;

const EVENT = 'data: {"choices":[{"delta":{"content":"tide "}}]}\n\n';
const USAGE =
  'data: {"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":9}}\n\ndata: [DONE]\n\n';

/** A server whose answers stream until it is told to end them. */
export async function startStreaming(): Promise<{
  host: string;
  open(): number;
  end(): void;
  stop(): void;
}> {
  const sockets = new Set<Socket>();
  const answers = new Set<import("node:http").ServerResponse>();
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/health" || request.url === "/metrics") return void response.end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(EVENT);
    answers.add(response);
    response.on("close", () => answers.delete(response));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1", 8192);
  await once(server, "listening");
  const timer = setInterval(() => {
    for (const answer of answers) answer.write(EVENT);
  }, TOKEN_MS);
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => answers.size,
    end: () => {
      for (const answer of answers) answer.end(USAGE);
    },
    stop: () => {
      clearInterval(timer);
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function connected(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  return session;
}

/** Opens streamed requests over HTTP/2; resolves once each has had its first token. */
export async function openStreams(
  port: number,
  count: number,
): Promise<{ failed: number; ended(): number; stop(): void }> {
  const sessions: ClientHttp2Session[] = [];
  let ended = 0;
  let failed = 0;
  let next = 0;
  const one = async (index: number) => {
    const at = Math.floor(index / STREAMS_PER_CONNECTION);
    const session = sessions[at] ?? connected(port);
    sessions[at] = session;
    const stream = session.request({
      ":method": "POST",
      ":path": "/v1/chat/completions",
      "content-type": "application/json",
    });
    stream.on("error", () => {});
    stream.on("end", () => ended++);
    stream.end(
      JSON.stringify({
        model: "m",
        stream: true,
        messages: [{ role: "user", content: `Question ${index} about the tides` }],
      }),
    );
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    if (headers[":status"] !== 200) failed++;
    await once(stream, "data");
    stream.resume();
  };
  const worker = async () => {
    while (next < count) await one(next++).catch(() => failed++);
  };
  await Promise.all(Array.from({ length: OPENING }, worker));
  return {
    failed,
    ended: () => ended,
    stop: () => {
      for (const session of sessions) session.destroy();
    },
  };
}
