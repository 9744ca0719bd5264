/**
 * The upstream of the benchmark, a program of its own: reads whole bodies, answers at once. HTTP/1.1
 * over plain sockets, since the load generator shares its core. Prints its port when it listens.
 *
 *   node --import tsx tests/bench/backend.ts HOSTS
 */
import { createServer, type Socket } from "node:net";

/** Listens on 127.0.0.1 … 127.0.0.HOSTS, all on one port. */
const hosts = Number(process.argv[2] ?? 3);

const CHAT = JSON.stringify({
  id: "chatcmpl-bench",
  object: "chat.completion",
  model: "bench-8b",
  choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
  usage: {
    prompt_tokens: 100,
    completion_tokens: 2,
    total_tokens: 102,
    prompt_tokens_details: { cached_tokens: 90 },
  },
});
const METRICS = `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="bench-8b"} 1
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="bench-8b"} 0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="bench-8b"} 0.1
`;
const MODELS = JSON.stringify({ object: "list", data: [{ id: "bench-8b", object: "model" }] });
const SERVER_INFO = JSON.stringify({ model_path: "bench-8b", version: "0", dp_size: 1 });

/** Answers by the first characters of the request line; what is not here is a 404 and said. */
const ANSWERS: [start: string, answer: Buffer][] = [
  ["POST /v1/chat/completions ", answer(200, "application/json", CHAT)],
  ["GET /health", answer(200, "application/json", "{}")],
  ["GET /metrics", answer(200, "text/plain", METRICS)],
  ["GET /v1/models", answer(200, "application/json", MODELS)],
  ["GET /get_server_info", answer(200, "application/json", SERVER_INFO)],
  ["GET /server_info", answer(200, "application/json", SERVER_INFO)],
  ["GET /get_model_info", answer(200, "application/json", SERVER_INFO)],
  ["GET /model_info", answer(200, "application/json", SERVER_INFO)],
];
const NOT_FOUND = answer(404, "application/json", "{}");

/** Answers of `stream: true` requests. */
const EVENTS = answer(
  200,
  "text/event-stream",
  ["Yes", "."]
    .map(
      (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
    )
    .concat(`data: ${JSON.stringify({ choices: [], usage: JSON.parse(CHAT).usage })}\n\n`)
    .concat("data: [DONE]\n\n")
    .join(""),
);

function answer(status: number, type: string, body: string): Buffer {
  const length = Buffer.byteLength(body);
  const reason = status === 200 ? "OK" : "Not Found";
  return Buffer.from(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`,
  );
}

const HEAD_END = Buffer.from("\r\n\r\n");
const CHUNKS_END = Buffer.from("0\r\n\r\n");

/** One connection: a head, then bytes to skip, again and again. */
function serve(socket: Socket): void {
  let head: Buffer = Buffer.alloc(0);
  /** Bytes of the body still to come; -1 while in a head, -2 in a chunked body. */
  let left = -1;
  let reply: Buffer = NOT_FOUND;
  let tail = "";
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("data", (data: Buffer) => {
    let at = 0;
    while (at < data.length) {
      if (left === -1) {
        head = head.length === 0 ? data.subarray(at) : Buffer.concat([head, data.subarray(at)]);
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        const text = head.toString("latin1", 0, end);
        data = head;
        at = end + 4;
        head = Buffer.alloc(0);
        reply = choose(text);
        const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
        left =
          length === undefined ? (/\r\ntransfer-encoding:/i.test(text) ? -2 : 0) : Number(length);
        tail = "";
      }
      if (left === -2) {
        // The last five bytes of the message are the empty chunk; nothing is pipelined after it.
        tail = (tail + data.toString("latin1", Math.max(at, data.length - 5))).slice(-5);
        at = data.length;
        if (tail !== CHUNKS_END.toString("latin1")) return;
        left = 0;
      } else {
        const skipped = Math.min(left, data.length - at);
        at += skipped;
        left -= skipped;
      }
      if (left !== 0) return;
      left = -1;
      socket.write(reply);
    }
  });
}

const missed = new Set<string>();

function choose(head: string): Buffer {
  const line = head.slice(0, head.indexOf("\r\n"));
  if (/\r\nx-bench-stream: *1/i.test(head)) return EVENTS;
  const found = ANSWERS.find(([start]) => line.startsWith(start));
  if (found !== undefined) return found[1];
  if (!missed.has(line)) console.error(`no answer for ${line}`);
  missed.add(line);
  return NOT_FOUND;
}

let port = 0;
for (let i = 1; i <= hosts; i++) {
  const server = createServer(serve);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, `127.0.0.${i}`, () => resolve());
  });
  port = (server.address() as { port: number }).port;
}
console.log(port);
