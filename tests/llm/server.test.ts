import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Fleet, startServers } from "./fleet.ts";

interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of eight APIs, read field by field
  json: any;
}

/** The `data:` values of an event stream, `[DONE]` left out. */
// biome-ignore lint/suspicious/noExplicitAny: events of four APIs, read field by field
function events(text: string): any[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));
}

describe("LLM server", () => {
  let fleet: Fleet;
  let base = "";

  before(async () => {
    fleet = await startServers(2, { timeScale: 1000 });
    base = `http://${fleet.addresses[0]}`;
  });
  after(() => fleet.stop());

  async function post(path: string, body: unknown, tokens = 20): Promise<Reply> {
    const response = await fetch(base + path, {
      method: "POST",
      headers: { "x-test-output-tokens": `${tokens}` },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await response.text();
    const json = text.startsWith("{") ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, text, json };
  }

  const longText = "All work and no play makes a dull test. ".repeat(50);

  it("answers chats with usage, and has the next turn cached", async () => {
    const messages = [{ role: "user", content: longText }];
    const first = await post("/v1/chat/completions", { model: "m", messages });
    assert.equal(first.status, 200);
    assert.equal(first.headers.get("x-served-by"), fleet.addresses[0]);
    assert.equal(first.json.usage.completion_tokens, 20);
    const prompt = first.json.usage.prompt_tokens;
    assert.ok(prompt >= 500 && prompt < 520, `${prompt}`);
    const answer = first.json.choices[0].message.content;
    assert.equal(answer.length, 80);
    const turn = [
      ...messages,
      { role: "assistant", content: answer },
      { role: "user", content: "?" },
    ];
    const second = await post("/v1/chat/completions", { model: "m", messages: turn });
    const cached = second.json.usage.prompt_tokens_details.cached_tokens;
    assert.equal(cached, Math.floor((prompt + 19) / 16) * 16);
    const other = await post("/v1/chat/completions", { model: "other", messages: turn });
    assert.equal(other.json.usage.prompt_tokens_details.cached_tokens, 0);
  });

  it("streams chats, with usage where it is asked for", async () => {
    const body = { messages: [{ role: "user", content: "Hi" }], stream: true };
    const plain = await post("/v1/chat/completions", body, 5);
    assert.equal(plain.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assert.ok(plain.text.endsWith("data: [DONE]\n\n"));
    assert.ok(!plain.text.includes("usage"));
    const deltas = events(plain.text).map((e) => e.choices[0].delta.content ?? "");
    assert.equal(deltas.join("").length, 20);
    const counted = await post("/v1/chat/completions", {
      ...body,
      stream_options: { include_usage: true },
    });
    const last = events(counted.text).at(-1);
    assert.deepEqual(last.choices, []);
    assert.equal(last.usage.completion_tokens, 20);
  });

  it("speaks Anthropic's messages", async () => {
    const body = { model: "m", max_tokens: 7, system: longText, messages: [] };
    const first = await post("/v1/messages", body);
    assert.equal(first.json.stop_reason, "max_tokens");
    assert.equal(first.json.usage.output_tokens, 7);
    assert.equal(first.json.usage.cache_read_input_tokens, 0);
    const second = await post("/v1/messages", { ...body, stream: true });
    const [start, ...rest] = events(second.text);
    assert.equal(start.type, "message_start");
    const usage = start.message.usage;
    assert.ok(usage.cache_read_input_tokens >= 480);
    assert.equal(usage.cache_read_input_tokens + usage.input_tokens, first.json.usage.input_tokens);
    assert.equal(rest.at(-1).type, "message_stop");
    assert.equal(rest.at(-2).usage.output_tokens, 7);
  });

  it("speaks Responses, with the earlier turn by its id", async () => {
    const first = await post("/v1/responses", { instructions: longText, input: "Hi" });
    assert.equal(first.json.status, "completed");
    const next = { previous_response_id: first.json.id, input: "Go on", stream: true };
    const second = await post("/v1/responses", next);
    const { response } = events(second.text).at(-1);
    assert.ok(response.usage.input_tokens > first.json.usage.input_tokens + 20);
    assert.ok(response.usage.input_tokens_details.cached_tokens >= 500);
    const unknown = await post("/v1/responses", { previous_response_id: "resp_0", input: "x" });
    assert.equal(unknown.status, 400);
    const kept = await fetch(`${base}/v1/responses/${first.json.id}`);
    assert.equal((await kept.json()).id, first.json.id);
    assert.equal((await fetch(`${base}/v1/responses/resp_0/cancel`)).status, 404);
  });

  it("counts token ids exactly, and answers the other inference paths", async () => {
    const ids = Array.from({ length: 333 }, (_, i) => i);
    const completion = await post("/v1/completions", { prompt: ids, max_tokens: 3 });
    assert.equal(completion.json.usage.prompt_tokens, 333);
    assert.equal(completion.json.choices[0].finish_reason, "length");
    const embedding = await post("/v1/embeddings", { input: ["abcd", "efghijkl"] });
    assert.equal(embedding.json.usage.prompt_tokens, 3);
    const sglang = await post("/generate", {
      text: longText,
      sampling_params: { max_new_tokens: 2 },
    });
    assert.equal(sglang.json.meta_info.completion_tokens, 2);
    const tgi = await post("/generate", { inputs: "x", parameters: { max_new_tokens: 2 } });
    assert.equal(tgi.json.details.generated_tokens, 2);
    const llama = await post("/completion", { prompt: "x", n_predict: 4 });
    assert.equal(llama.json.tokens_predicted, 4);
    const broken = await post("/v1/chat/completions", '{"messages":');
    assert.equal(broken.status, 400);
  });

  it("echoes the digest of any body on any path", async () => {
    const body = Buffer.alloc(3_000_000, "warm");
    const response = await fetch(`${base}/upload/x?y=1`, { method: "PUT", body });
    assert.equal(response.headers.get("x-body-bytes"), "3000000");
    const digest = createHash("sha256").update(body).digest("hex");
    assert.equal(response.headers.get("x-body-sha256"), digest);
    assert.deepEqual(await response.json(), { method: "PUT", path: "/upload/x" });
  });

  it("reports itself in vLLM's names", async () => {
    const text = await fetch(`${base}/metrics`).then((response) => response.text());
    const value = (name: string): number =>
      Number(new RegExp(`^${name}(?:{.*})? (.*)$`, "m").exec(text)?.[1]);
    assert.equal(value("vllm:num_requests_running"), 0);
    assert.equal(value("vllm:num_requests_waiting"), 0);
    assert.ok(value("vllm:prefix_cache_hits_total") > 0);
    assert.ok(value("vllm:iteration_tokens_total_count") > 0);
    assert.ok(text.includes('num_gpu_blocks="62500"'));
    const models = await fetch(`${base}/v1/models`).then((response) => response.json());
    assert.equal((models as { data: { id: string }[] }).data[0]?.id, "test-model");
    assert.equal((await fetch(`${base}/health`)).status, 200);
  });

  it("fails as it is told", async () => {
    const body = { prompt: "x", max_tokens: 50, stream: true };
    await fleet.fault(0, { kind: "status", status: 503, times: 2 });
    assert.equal((await post("/v1/completions", body)).status, 503);
    assert.equal((await post("/v1/completions", body)).status, 503);
    assert.equal((await post("/v1/completions", body)).status, 200);
    await fleet.fault(0, { kind: "reset", times: 1 });
    await assert.rejects(post("/v1/completions", body));
    await fleet.fault(0, { kind: "reset_after_headers", times: 1 });
    await assert.rejects(post("/v1/completions", body));
    await fleet.fault(0, { kind: "reset_mid_stream", afterTokens: 5, times: 1 });
    await assert.rejects(post("/v1/completions", body));
    await fleet.fault(0, { kind: "html", scope: "metrics", times: 1 });
    assert.ok((await fetch(`${base}/metrics`).then((r) => r.text())).startsWith("<!doctype"));
    assert.equal((await post("/v1/completions", body)).status, 200);
  });

  it("dies and comes back on its port with an empty cache", async () => {
    const body = { messages: [{ role: "user", content: longText }] };
    await post("/v1/chat/completions", body);
    await fleet.servers[0]?.kill();
    await assert.rejects(post("/v1/chat/completions", body));
    await fleet.servers[0]?.revive();
    const reply = await post("/v1/chat/completions", body);
    assert.equal(reply.json.usage.prompt_tokens_details.cached_tokens, 0);
  });

  it("lets go of requests whose client is gone", async () => {
    const controller = new AbortController();
    const response = await fetch(`${base}/v1/completions`, {
      method: "POST",
      headers: { "x-test-output-tokens": "500000" },
      body: JSON.stringify({ prompt: "x", stream: true }),
      signal: controller.signal,
    });
    assert.equal(response.status, 200);
    controller.abort();
    const engine = fleet.servers[0]?.driver.engine;
    while (engine !== undefined && engine.runningCount + engine.waitingCount > 0) {
      await sleep(5);
    }
    assert.equal(engine?.cache.usage, 0);
  });
});
