/** The ways of HTTP that gateways were reported to stumble over: each request is served once, and none is held. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import test, { after } from "node:test";
import { gateway } from "./harness.ts";

const GAP_MS = 20;
const TIMEOUT_MS = 20_000;

/** What the server got, one line each. */
const got: string[] = [];
const server = createServer((request, response) => {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => (bytes += chunk.length));
  request.on("end", () => {
    const { url = "" } = request;
    if (url === "/health") return response.end();
    got.push(`${request.method} ${url} ${bytes}`);
    if (url === "/v1/hints") response.writeEarlyHints({ link: "</a>; rel=preload" });
    if (url === "/v1/empty") return response.writeHead(204).end();
    const isStream = url === "/v1/stream";
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "text/plain" });
    if (!isStream) return response.end("well");
    response.write('data: {"choices":[{"delta":{"content":"well"}}]}\n\n');
    response.addTrailers({ "x-sum": "1" });
    return response.end();
  });
});
server.on("upgrade", (request, socket) => {
  got.push(`${request.headers.upgrade} ${request.url}`);
  const head = "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
  socket.on("error", () => {}).end(`${head}well`);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
after(() => {
  server.closeAllConnections();
  server.close();
});
const { port } = server.address() as { port: number };
const host = `127.0.0.1:${port}`;
const envoy = await gateway(
  [host],
  { routing: { paths: ["/v1/*", "/vllm.Engine/*"] } },
  {
    edit: (yaml) =>
      yaml.replace(
        /^( *)stat_prefix: .*$/m,
        "$&\n$1upgrade_configs: [{ upgrade_type: websocket }]",
      ),
  },
);

/** What comes back on a connection that sends these parts one after the other, until it is closed. */
function exchange(parts: string[]): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const timer = setTimeout(() => socket.destroy(new Error(`after ${text}`)), TIMEOUT_MS);
    const socket = connect(envoy.port, "127.0.0.1", async () => {
      for (const part of parts) {
        socket.write(part);
        await new Promise((wait) => setTimeout(wait, GAP_MS));
      }
    });
    socket.on("data", (chunk) => (text += chunk));
    // What is closed before all of it was read may be reset; the text tells.
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}

const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] });
const SIZE = body.length;
const CHUNK = `${SIZE.toString(16)};a=b\r\n${body}\r\n`;

/** The head of a request, its connection closed behind the answer unless `more` says otherwise. */
function head(start: string, ...more: string[]): string {
  const lines = [`${start} HTTP/1.1`, "host: x", "content-type: application/json", ...more];
  if (!more.some((line) => line.startsWith("connection"))) lines.push("connection: close");
  return `${lines.join("\r\n")}\r\n\r\n`;
}
const LENGTH = `content-length: ${SIZE}`;
const CHUNKED = "transfer-encoding: chunked";

test("HTTP/1.1: expectations, trailers, upgrades, pipelines and answers without a body", async () => {
  const post = (path: string, ...more: string[]) => head(`POST ${path}`, LENGTH, ...more) + body;
  const asked = `POST /v1/chat ${SIZE}`;
  const websocket = ["connection: upgrade", "upgrade: websocket", "sec-websocket-key: eA=="];
  const cases: [what: string, parts: string[], status: number[], seen: string[]][] = [
    [
      "an expectation",
      [head("POST /v1/chat", LENGTH, "expect: 100-continue"), body],
      [100, 200],
      [asked],
    ],
    ["a whole URL", [post("http://llm/v1/chat")], [200], [asked]],
    [
      "trailers",
      [head("POST /v1/chat", CHUNKED, "trailer: x-t"), `${CHUNK}0\r\n`, "x-t: 1\r\n\r\n"],
      [200],
      [asked],
    ],
    [
      "an end that comes late",
      [head("POST /v1/chat", CHUNKED), CHUNK, "0\r\n\r\n"],
      [200],
      [asked],
    ],
    [
      "an offer of HTTP/2",
      [
        post(
          "/v1/chat",
          "connection: close, upgrade, http2-settings",
          "upgrade: h2c",
          "http2-settings: AAMAAABk",
        ),
      ],
      [200],
      [asked],
    ],
    [
      "two at once",
      [post("/v1/chat", "connection: keep-alive") + post("/v1/chat")],
      [200, 200],
      [asked, asked],
    ],
    ["early hints", [post("/v1/hints")], [200], [`POST /v1/hints ${SIZE}`]],
    ["no content", [post("/v1/empty")], [204], [`POST /v1/empty ${SIZE}`]],
    [
      "trailers of an answer",
      [post("/v1/stream", "te: trailers")],
      [200],
      [`POST /v1/stream ${SIZE}`],
    ],
    ["HEAD", [head("HEAD /v1/chat")], [200], ["HEAD /v1/chat 0"]],
    ["a preflight", [head("OPTIONS /v1/chat", "origin: http://a")], [200], ["OPTIONS /v1/chat 0"]],
    ["a GET with a body", [head("GET /v1/chat", LENGTH) + body], [200], [`GET /v1/chat ${SIZE}`]],
    ["a websocket", [head("GET /v1/realtime", ...websocket)], [101], ["websocket /v1/realtime"]],
    ["HTTP/1.0", [`POST /v1/chat HTTP/1.0\r\n${LENGTH}\r\n\r\n${body}`], [426], []],
  ];
  for (const [what, parts, status, seen] of cases) {
    got.length = 0;
    const text = await exchange(parts);
    const lines = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code));
    assert.deepEqual(lines, status, `${what}: ${text}`);
    assert.deepEqual(got, seen, what);
  }
});

test("HTTP/2 and gRPC: trailers, no body, an empty one", async () => {
  const session = connectHttp2(`http://127.0.0.1:${envoy.port}`);
  const call = (path: string, type: string, data: string | undefined, trailers: boolean) =>
    new Promise<string>((resolve, reject) => {
      const options = { endStream: data === undefined, waitForTrailers: trailers };
      const headers = { ":method": "POST", ":path": path, "content-type": type, te: "trailers" };
      const stream = session.request(headers, options as object);
      let text = "";
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-t": "1" }));
      stream.on("response", (answer) => {
        text = `${answer[":status"]} ${answer["x-warmroute-reason"]} `;
      });
      stream.on("data", (chunk) => (text += chunk));
      stream.on("end", () => resolve(text));
      stream.on("error", reject);
      stream.setTimeout(TIMEOUT_MS, () => stream.destroy(new Error(`after ${text}`)));
      if (data !== undefined) stream.end(data);
    });
  const json = "application/json";
  const message = "\0\0\0\0\u0002{}";
  assert.match(await call("/v1/chat", json, body, false), /^200 (cold|prefix) well$/);
  assert.match(await call("/v1/chat", json, body, true), /^200 (cold|prefix) well$/);
  assert.equal(await call("/v1/chat", json, undefined, false), "200 bypass well");
  assert.equal(await call("/v1/chat", json, "", false), "200 opaque well");
  assert.equal(
    await call("/vllm.Engine/Ask", "application/grpc", message, false),
    "200 opaque well",
  );
  assert.equal(
    await call("/vllm.Engine/Ask", "application/grpc+json", message, true),
    "200 opaque well",
  );
  session.close();
});

test("none of these stays counted", async () => {
  for (let waitedMs = 0; ; waitedMs += GAP_MS) {
    const inFlight = (await envoy.stats()).sum("warmroute_in_flight");
    if (inFlight === 0) return;
    assert.ok(waitedMs < TIMEOUT_MS, `${inFlight} in flight`);
    await new Promise((wait) => setTimeout(wait, GAP_MS));
  }
});
