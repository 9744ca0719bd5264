/** What the benchmark's backend answers: to clients, and to each router that asks around. */

/** An answer's text, from the size of the request's body and, where it is kept, the body. */
interface Endpoint {
  type: string;
  text(bodyBytes: number, body: Buffer): string;
  /** Whether `text` reads the body. */
  readsBody?: boolean;
}

/** Rough bytes of English text per token, as in every answer here. */
const BYTES_PER_TOKEN = 4;
const MODEL = "bench-8b";
const VOCABULARY = 50_000;

/** Honest as far as it goes: tokens by the size of the body, nothing said about a cache. */
function usage(bodyBytes: number): object {
  const prompt = Math.ceil(bodyBytes / BYTES_PER_TOKEN);
  return { prompt_tokens: prompt, completion_tokens: 2, total_tokens: prompt + 2 };
}

function chat(bodyBytes: number): string {
  return JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    model: MODEL,
    choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
    usage: usage(bodyBytes),
  });
}

function chatEvents(bodyBytes: number): string {
  const parts = ["Yes", "."].map((content) => ({ choices: [{ index: 0, delta: { content } }] }));
  return [...parts, { choices: [], usage: usage(bodyBytes) }]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .concat("data: [DONE]\n\n")
    .join("");
}

/** A stand-in for a tokenizer: equal starts of bodies have equal first tokens. */
function tokens(body: Buffer): number[] {
  const ids: number[] = [];
  for (let at = 0; at + BYTES_PER_TOKEN <= body.length; at += BYTES_PER_TOKEN) {
    ids.push(body.readUInt32LE(at) % VOCABULARY);
  }
  return ids;
}

const METRICS = `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="${MODEL}"} 1
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="${MODEL}"} 0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="${MODEL}"} 0.1
`;
const LOAD = { dp_rank: 0, num_reqs: 1, num_running_reqs: 1, num_waiting_reqs: 0, num_tokens: 100 };
const SERVER_INFO = { model_path: MODEL, served_model_name: MODEL, version: "0", dp_size: 1 };

function json(value: object): Endpoint {
  const text = JSON.stringify(value);
  return { type: "application/json", text: () => text };
}

/** By the first characters of the request line; the first that fits. */
const ENDPOINTS: [start: string, endpoint: Endpoint][] = [
  ["POST /v1/chat/completions ", { type: "application/json", text: chat }],
  [
    "POST /v1/chat/completions/render ",
    {
      type: "application/json",
      text: (_bodyBytes, body) => JSON.stringify({ model: MODEL, token_ids: tokens(body) }),
      readsBody: true,
    },
  ],
  [
    "POST /tokenize ",
    {
      type: "application/json",
      text: (_bodyBytes, body) => {
        const ids = tokens(body);
        return JSON.stringify({ count: ids.length, max_model_len: 1 << 20, tokens: ids });
      },
      readsBody: true,
    },
  ],
  ["GET /health", json({})],
  ["GET /metrics", { type: "text/plain", text: () => METRICS }],
  ["GET /v1/models", json({ object: "list", data: [{ id: MODEL, object: "model" }] })],
  ["GET /get_server_info", json(SERVER_INFO)],
  ["GET /server_info", json(SERVER_INFO)],
  ["GET /get_model_info", json(SERVER_INFO)],
  ["GET /model_info", json(SERVER_INFO)],
  ["GET /version", json({ version: "0.11.0" })],
  ["GET /get_load", json([LOAD])],
  ["GET /v1/loads", json({ dp_rank_count: 1, loads: [LOAD] })],
  ["GET /loads", json({ dp_rank_count: 1, loads: [LOAD] })],
];
const EVENTS: Endpoint = { type: "text/event-stream", text: chatEvents };

/** Finds what a request head asks for; undefined: nothing here. */
export function endpointOf(head: string): Endpoint | undefined {
  if (/\r\nx-bench-stream: *1/i.test(head) && head.startsWith("POST /v1/chat/completions ")) {
    return EVENTS;
  }
  return ENDPOINTS.find(([start]) => head.startsWith(start))?.[1];
}

/** Answers that are the same for all bodies of a size, ready to send. */
const ready = new Map<Endpoint, Map<number, Buffer>>();
const READY_MOST = 4096;

/** The whole message for an endpoint; 404 without one. */
export function answerOf(endpoint: Endpoint | undefined, bodyBytes: number, body: Buffer): Buffer {
  if (endpoint === undefined) return message(404, "Not Found", "application/json", "{}");
  if (endpoint.readsBody) return message(200, "OK", endpoint.type, endpoint.text(bodyBytes, body));
  let sizes = ready.get(endpoint);
  if (sizes === undefined || sizes.size > READY_MOST) {
    sizes = new Map();
    ready.set(endpoint, sizes);
  }
  let answer = sizes.get(bodyBytes);
  if (answer === undefined) {
    answer = message(200, "OK", endpoint.type, endpoint.text(bodyBytes, body));
    sizes.set(bodyBytes, answer);
  }
  return answer;
}

function message(status: number, reason: string, type: string, body: string): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`,
  );
}
