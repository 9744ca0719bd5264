/** Kinds of answers that routers and gateways were reported to misread: what each is to be read as. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, type Exchange, Gateway, hostNames } from "./gateway.ts";
import { recordOf } from "./records.ts";

const TYPE = "content-type";
const EVENTS = { [TYPE]: "text/event-stream" };
const usage = '"usage":{"prompt_tokens":90,"completion_tokens":2}';

function event(data: unknown, name?: string): string {
  return `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
}

/** Begins an answer with these headers, one of JSON by default. */
function begin({ stream, target }: Exchange, headers: Record<string, string>): void {
  stream.upstreamAddress = target;
  const all = { ":status": "200", [TYPE]: "application/json", ...headers };
  stream.responseHeaders(Object.entries(all));
}

test("the first token of a stream is none of what comes before it", () => {
  const announced = {
    type: "response.created",
    response: { id: "r", instructions: "x", usage: null },
  };
  const opening = {
    type: "message_start",
    message: { id: "m", content: [], usage: { input_tokens: 9 } },
  };
  const early: Record<string, string> = {
    "a comment": ": keep-alive\n\n",
    "a ping": event({ type: "ping" }, "ping"),
    "an announcement": event(announced, "response.created"),
    "a large announcement": event({ ...announced, tools: ["t".repeat(9000)] }, "response.created"),
    "the start of a message": event(opening, "message_start"),
    "a role": event({ id: "c", choices: [{ delta: { role: "assistant", content: "" } }] }),
  };
  const tokens: Record<string, string> = {
    text: event({ choices: [{ delta: { content: "a" } }] }),
    reasoning: event({ choices: [{ delta: { content: null, reasoning_content: "a" } }] }),
    "a call": event({ choices: [{ delta: { tool_calls: [{ function: { arguments: "{" } }] } }] }),
    "text of Responses": event({ type: "response.output_text.delta", delta: "a" }),
    "text of Anthropic": event({ type: "content_block_delta", delta: { text: "a" } }),
    "text of Triton": event({ text_output: "a" }),
  };
  for (const [what, first] of Object.entries(early)) {
    for (const [kind, token] of Object.entries(tokens)) {
      const gateway = new Gateway(hostNames(1));
      const exchange = gateway.send(chat("word ".repeat(100), { stream: true }));
      begin(exchange, EVENTS);
      gateway.host.advance(20);
      exchange.stream.responseBody(first);
      gateway.host.advance(480);
      exchange.stream.responseBody(token);
      gateway.host.advance(50);
      exchange.end({ body: `${token}data: [DONE]\n\n` });
      const ttft = gateway.host.metrics.histogram("warmroute.ttft_ms");
      assert.deepEqual([ttft?.count, ttft?.sum], [1, 500], `${what}, then ${kind}`);
    }
  }
});

test("a stream of a form that isn't known begins with its sixteenth event", () => {
  const gateway = new Gateway(hostNames(1));
  const exchange = gateway.send(chat("word ".repeat(100), { stream: true }));
  begin(exchange, EVENTS);
  gateway.host.advance(300);
  for (let i = 0; i < 40; i++) {
    gateway.host.advance(10);
    exchange.stream.responseBody(event({ output_ids: [i] }));
  }
  exchange.end({ body: "data: [DONE]\n\n" });
  const ttft = gateway.host.metrics.histogram("warmroute.ttft_ms");
  assert.deepEqual([ttft?.count, ttft?.sum], [1, 300 + 16 * 10]);
});

test("an error with status 200 says nothing of a server's speed", () => {
  const errors: Record<string, [body: string, headers: Record<string, string>]> = {
    "in a stream": [`${event({ error: { message: "too long" } })}data: [DONE]\n\n`, EVENTS],
    "named in a stream": [event({ type: "error", error: { type: "overloaded" } }, "error"), EVENTS],
    "in one piece": [`{"error":{"message":"no room","code":500},${usage}}`, {}],
    "as a string": [`{"error":"no room","id":"e"}`, {}],
  };
  for (const [what, [body, headers]] of Object.entries(errors)) {
    const [host = ""] = hostNames(1);
    const gateway = new Gateway([host]);
    const send = (i: number) =>
      gateway.send(chat(`${i} ${"word ".repeat(2000)}`, { stream: headers === EVENTS }));
    const good = send(0);
    gateway.host.advance(500);
    good.answer();
    const speed = () => {
      const { prefillFactor, decodeFactor, prefillSamples, decodeSamples } = recordOf(
        gateway,
        host,
      );
      return { prefillFactor, decodeFactor, prefillSamples, decodeSamples };
    };
    const learned = speed();
    for (let i = 1; i < 6; i++) {
      const exchange = send(i);
      gateway.host.advance(2);
      begin(exchange, headers);
      exchange.stream.responseBody(body, true);
    }
    assert.deepEqual(speed(), learned, what);
    gateway.host.advance(300);
    assert.equal(gateway.inFlight(host), 0);
  }
});

test("usage is read whatever the headers call a plain answer, and zeros don't replace counts", () => {
  const plain = `{"id":"a",${usage.replace("}", ',"prompt_tokens_details":{"cached_tokens":64}}')}}`;
  const start = {
    type: "message_start",
    message: { usage: { input_tokens: 26, cache_read_input_tokens: 64 } },
  };
  const zeros = { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 2 };
  const delta = event({ type: "message_delta", usage: zeros });
  const late = event({ choices: [], usage: { prompt_tokens_details: { cached_tokens: 0 } } });
  const final = event({
    usage: { prompt_tokens: 90, prompt_tokens_details: { cached_tokens: 64 } },
  });
  const answers: Record<string, [body: string, headers: Record<string, string>]> = {
    "no encoding": [plain, { "content-encoding": "identity" }],
    "an empty encoding": [plain, { "content-encoding": "" }],
    "zeros at the end": [event(start) + delta, EVENTS],
    "zeros at the start": [late + final, EVENTS],
    "upper case": [late + final, { [TYPE]: "Text/Event-Stream; charset=UTF-8" }],
    "more than was asked": [`${late}${final}: bye\n\ndata: [DONE]\n\n`, EVENTS],
  };
  for (const [what, [body, headers]] of Object.entries(answers)) {
    const gateway = new Gateway(hostNames(1));
    const exchange = gateway.send(chat("hi"));
    begin(exchange, headers);
    exchange.stream.responseBody(body, true);
    gateway.host.advance(100);
    assert.equal(gateway.stat("reported_cached_tokens_total"), 64, what);
  }
});

test("what generates nothing is soon expected to", () => {
  const gateway = new Gateway(hostNames(1));
  const send = (i: number) =>
    gateway.send({ model: "m", input: `text ${i}` }, { path: "/v1/embeddings" });
  for (let i = 0; i < 30; i++)
    send(i).answer({ body: '{"data":[],"usage":{"prompt_tokens":3,"total_tokens":3}}' });
  assert.ok(Number(send(30).answer().debug("output-tokens")) < 40);
});
