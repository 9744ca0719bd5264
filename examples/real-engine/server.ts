/** A small LLM server in the manner of llama.cpp's: streams OpenAI chat completions, tells its metrics. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { commandLine, whole } from "../../tools/commandline.ts";
import { Engine, type Generated, type Message, TooLong } from "./engine.ts";

const NAME = "SmolLM2-135M-Instruct";
/** Longest body that is read, in bytes. */
const MAX_BODY_BYTES = 1 << 20;
const DEFAULT_MAX_TOKENS = 64;

const USAGE = `server.ts [options]

Serves ${NAME} on a free port of loopback, until SIGTERM.

  --slots N         conversations whose KV cache is kept (4)
  --slot-tokens N   of each, prompt and answer (1024)
`;

const { slots, slotTokens } = commandLine(USAGE, (args) => {
  const { values } = parseArgs({
    args,
    options: {
      slots: { type: "string", default: "4" },
      "slot-tokens": { type: "string", default: "1024" },
    },
  });
  return {
    slots: whole("--slots", values.slots, 1, 64),
    slotTokens: whole("--slot-tokens", values["slot-tokens"], 64, 8192),
  };
});
const engine = await Engine.load(slots, slotTokens);
let serial = 0;

interface ChatRequest {
  messages: Message[];
  max_tokens?: number;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}

const server = createServer((request, response) => {
  const path = (request.url ?? "").split("?")[0];
  response.setHeader("x-served-by", `127.0.0.1:${(server.address() as AddressInfo).port}`);
  if (path === "/health") json(response, 200, { status: "ok" });
  else if (path === "/metrics") response.end(metrics());
  else if (path === "/v1/models") json(response, 200, { object: "list", data: [{ id: NAME }] });
  else if (path === "/v1/chat/completions" && request.method === "POST") {
    serve(request, response).catch((error: Error) => {
      if (!response.headersSent) refuse(response, 500, error.message);
      else response.destroy(error);
    });
  } else refuse(response, 404, `no ${request.method} ${path} here`);
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = readRequest(await bodyOf(request));
  if (typeof asked === "string") {
    refuse(response, 400, asked);
    return;
  }
  const id = `chatcmpl-${++serial}`;
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const event = (fields: object) =>
    response.write(
      `data: ${JSON.stringify({ id, object: "chat.completion.chunk", model: NAME, ...fields })}\n\n`,
    );
  const choice = (delta: object, finish_reason: string | null) => [
    { index: 0, delta, finish_reason },
  ];
  let text = "";
  let done: Generated;
  try {
    done = await engine.chat(
      asked.messages,
      asked.max_tokens ?? DEFAULT_MAX_TOKENS,
      (piece) => {
        text += piece;
        if (!asked.stream) return;
        if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
        event({ choices: choice({ role: "assistant", content: piece }, null) });
      },
      gone.signal,
    );
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
    refuse(response, 400, error.message);
    return;
  }
  const finish = done.ended ? "stop" : "length";
  if (!asked.stream) {
    const message = { role: "assistant", content: text };
    const choices = [{ index: 0, message, finish_reason: finish }];
    json(response, 200, {
      id,
      object: "chat.completion",
      model: NAME,
      choices,
      usage: usageOf(done),
    });
    return;
  }
  event({ choices: choice({}, finish) });
  if (asked.stream_options?.include_usage) event({ choices: [], usage: usageOf(done) });
  response.end("data: [DONE]\n\n");
}

function usageOf({ promptTokens, cachedTokens, outputTokens }: Generated) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

/** The request, or what is wrong with it. */
function readRequest(body: string): ChatRequest | string {
  let read: Partial<ChatRequest>;
  try {
    read = JSON.parse(body);
  } catch {
    return "expected JSON";
  }
  const isMessage = (message: Message) =>
    typeof message?.role === "string" && typeof message.content === "string";
  if (!Array.isArray(read?.messages) || !read.messages.every(isMessage)) {
    return "messages: expected a list of objects with role and content, both text";
  }
  if (
    read.max_tokens !== undefined &&
    !(Number.isInteger(read.max_tokens) && read.max_tokens > 0)
  ) {
    return `max_tokens: expected a whole number above 0, got ${read.max_tokens}`;
  }
  return read as ChatRequest;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error(`the body exceeds ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function metrics(): string {
  return Object.entries(engine.counters)
    .map(([name, value]) => {
      const type = name.endsWith("_total") ? "counter" : "gauge";
      return `# TYPE llamacpp:${name} ${type}\nllamacpp:${name} ${value}\n`;
    })
    .join("");
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  json(response, status, { error: { message, type: "invalid_request_error", code: status } });
}

server.listen(0, "127.0.0.1", () => {
  console.log(`listening on 127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("SIGTERM", () => process.exit(0));
