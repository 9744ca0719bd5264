/** What answers say about their tokens, whole and cut at every byte. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { encode, Readers, type Usage } from "./metrics.readers.ts";

let readers: Readers;

before(async () => {
  readers = await Readers.start();
});

type Expected = Partial<Omit<Usage, "id">> & { id?: string };

const filled = (expected: Expected): Usage => ({
  prompt: -1,
  completion: -1,
  cached: -1,
  events: 0,
  done: false,
  ...expected,
  id: expected.id === undefined ? 0n : readers.hash(expected.id),
});

/** Reads an answer whole, cut at every byte and byte by byte. */
function check(answer: string, isEventStream: boolean, expected: Expected): void {
  const bytes = encode(answer);
  const want = filled(expected);
  assert.deepEqual(readers.usage(bytes, [], isEventStream), want, answer.slice(0, 200));
  const step = bytes.length > 3000 ? 97 : 1;
  for (let cut = 0; cut <= bytes.length; cut += step) {
    assert.deepEqual(
      readers.usage(bytes, [cut], isEventStream),
      want,
      `${answer.slice(0, 200)} at ${cut}`,
    );
  }
  if (bytes.length > 100_000) return;
  const bytewise = Array.from({ length: Math.max(bytes.length - 1, 0) }, (_, i) => i + 1);
  assert.deepEqual(readers.usage(bytes, bytewise, isEventStream), want, "byte by byte");
}

/** Events as a stream. */
const sse = (events: (object | string)[], end = "\n\n"): string =>
  events
    .map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}${end}`)
    .join("");

/** Anthropic and Responses name each event. */
const named = (events: { type: string }[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const DECOY =
  'usage"\\ "usage":{"prompt_tokens":999} \\"usage\\":{} {"usage":{"prompt_tokens":998}}';
const usage = {
  prompt_tokens: 120,
  total_tokens: 150,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 96 },
};
const chat = {
  id: "chatcmpl-1",
  choices: [{ message: { role: "assistant", content: DECOY, usage: { prompt_tokens: 5 } } }],
};

const JSON_ANSWERS: [string, object, Expected][] = [
  [
    "chat",
    { ...chat, usage },
    { prompt: 120, completion: 30, cached: 96, done: true, id: "chatcmpl-1" },
  ],
  [
    "usage first",
    { usage, ...chat },
    { prompt: 120, completion: 30, cached: 96, done: true, id: "chatcmpl-1" },
  ],
  [
    "no details",
    {
      id: "cmpl-2",
      usage: { prompt_tokens: 7, completion_tokens: 1, prompt_tokens_details: null },
    },
    { prompt: 7, completion: 1, done: true, id: "cmpl-2" },
  ],
  [
    "responses",
    {
      id: "resp_1",
      output: [{ id: "msg_9", content: [{ text: DECOY }] }],
      usage: { input_tokens: 40, input_tokens_details: { cached_tokens: 32 }, output_tokens: 9 },
    },
    { prompt: 40, completion: 9, cached: 32, done: true, id: "resp_1" },
  ],
  [
    "embeddings",
    {
      data: [{ embedding: [0.25, -1e-3], index: 0 }],
      usage: { prompt_tokens: 8, total_tokens: 8 },
    },
    { prompt: 8, done: true },
  ],
  [
    "anthropic",
    {
      id: "msg_1",
      content: [{ type: "text", text: DECOY }],
      usage: {
        input_tokens: 20,
        cache_creation_input_tokens: 5,
        cache_read_input_tokens: 100,
        cache_creation: { ephemeral_5m_input_tokens: 5 },
        output_tokens: 4,
      },
    },
    { prompt: 125, completion: 4, cached: 100, done: true, id: "msg_1" },
  ],
  [
    "sglang",
    {
      text: DECOY,
      meta_info: { id: "x", prompt_tokens: 11, completion_tokens: 3, cached_tokens: 8 },
    },
    { prompt: 11, completion: 3, cached: 8, done: true },
  ],
  [
    "sglang batch",
    [
      { text: "a", meta_info: { prompt_tokens: 11, completion_tokens: 3, cached_tokens: 8 } },
      { text: "b", meta_info: { prompt_tokens: 4, completion_tokens: 2, cached_tokens: 0 } },
    ],
    { prompt: 15, completion: 5, cached: 8, done: true },
  ],
  [
    "tgi",
    {
      generated_text: DECOY,
      details: { generated_tokens: 6, prefill: [{ id: 1 }, { id: 2 }], tokens: [{ id: 3 }] },
    },
    { prompt: 2, completion: 6, done: true },
  ],
  [
    "tgi list",
    [{ generated_text: "x", details: { generated_tokens: 6, input_length: 9, prefill: [] } }],
    { prompt: 9, completion: 6, done: true },
  ],
  [
    "llama.cpp",
    {
      content: DECOY,
      id_slot: 0,
      stop: true,
      tokens_predicted: 5,
      tokens_evaluated: 30,
      tokens_cached: 34,
      timings: { prompt_n: 10, predicted_n: 5 },
    },
    { prompt: 30, completion: 5, cached: 20, done: true },
  ],
  [
    "llama.cpp, newer",
    { tokens_evaluated: 30, tokens_predicted: 5, timings: { cache_n: 18, prompt_n: 12 } },
    { prompt: 30, completion: 5, cached: 18, done: true },
  ],
  ["an error", { error: { message: DECOY, code: 400 } }, { done: true }],
  [
    "odd types",
    { id: 7, usage: { prompt_tokens: "12", completion_tokens: -3, cached_tokens: 1.5 } },
    { done: true },
  ],
  ["no object", { id: "", usage: [{ prompt_tokens: 3 }] }, { done: true }],
  ["a float", { usage: { prompt_tokens: 12 } }, { prompt: 12, done: true }],
];

test("JSON answers", () => {
  for (const [, answer, expected] of JSON_ANSWERS) {
    check(JSON.stringify(answer), false, expected);
    check(JSON.stringify(answer, null, 2), false, expected);
  }
  check('{"usage":{"prompt_tokens":12.0}}', false, { prompt: 12, done: true });
  check('{"usage":{"prompt_tokens":12},"x":', false, { prompt: 12 });
  check('{"usage":{"prompt_tokens":1e999}}', false, { done: true });
  check("<html>usage</html>", false, {});
  check("", false, {});
});

const delta = (content: string, more: object = {}) => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
});

const STREAMS: [string, string, Expected][] = [
  [
    "chat",
    sse([
      { id: "chatcmpl-1", choices: [{ delta: { role: "assistant", content: "" } }], usage: null },
      delta("Hello"),
      delta(DECOY),
      delta("", { choices: [{ delta: {}, finish_reason: "stop" }] }),
      { id: "chatcmpl-1", choices: [], usage },
      "[DONE]",
    ]),
    { prompt: 120, completion: 30, cached: 96, events: 2, done: true, id: "chatcmpl-1" },
  ],
  [
    "counts in every event: the last one's",
    sse([
      delta("a", { usage: { prompt_tokens: 9, completion_tokens: 1 } }),
      delta("b", { usage: { prompt_tokens: 9, completion_tokens: 2 } }),
      "[DONE]",
    ]),
    { prompt: 9, completion: 2, events: 2, done: true, id: "chatcmpl-1" },
  ],
  ["cut off", sse([delta("a"), delta("b")]), { events: 2, id: "chatcmpl-1" }],
  [
    "anthropic",
    named([
      {
        type: "message_start",
        message: {
          id: "msg_1",
          content: [],
          usage: {
            input_tokens: 20,
            cache_read_input_tokens: 100,
            cache_creation_input_tokens: 5,
            output_tokens: 1,
          },
        },
      } as { type: string },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: DECOY } } as {
        type: string;
      },
      { type: "content_block_delta", index: 1, delta: { partial_json: '{"a' } } as { type: string },
      { type: "ping" },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn" },
        usage: { output_tokens: 15 },
      } as { type: string },
      { type: "message_stop" },
    ]),
    { prompt: 125, completion: 15, cached: 100, events: 2, done: true, id: "msg_1" },
  ],
  [
    "responses",
    named([
      { type: "response.created", response: { id: "resp_1", output: [], usage: null } } as {
        type: string;
      },
      { type: "response.output_item.added", item: { id: "msg_9", content: [] } } as {
        type: string;
      },
      { type: "response.output_text.delta", item_id: "msg_9", delta: "Hi" } as { type: string },
      {
        type: "response.completed",
        response: {
          id: "resp_1",
          usage: {
            input_tokens: 40,
            input_tokens_details: { cached_tokens: 32 },
            output_tokens: 9,
          },
        },
      } as { type: string },
    ]),
    { prompt: 40, completion: 9, cached: 32, events: 1, done: true, id: "resp_1" },
  ],
  [
    "sglang",
    sse([
      { text: "a", meta_info: { prompt_tokens: 11, completion_tokens: 1, cached_tokens: 8 } },
      { text: "ab", meta_info: { prompt_tokens: 11, completion_tokens: 2, cached_tokens: 8 } },
      "[DONE]",
    ]),
    { prompt: 11, completion: 2, cached: 8, events: 2, done: true },
  ],
  [
    "tgi",
    sse([
      {
        index: 1,
        token: { id: 264, text: " a", special: false },
        generated_text: null,
        details: null,
      },
      {
        index: 2,
        token: { id: 265, text: " b" },
        generated_text: " a b",
        details: { finish_reason: "length", generated_tokens: 2, input_length: 7 },
      },
    ]).replaceAll("data: ", "data:"),
    { prompt: 7, completion: 2, events: 2 },
  ],
  [
    "llama.cpp",
    sse([
      { content: "a", stop: false, tokens_predicted: 1, tokens_evaluated: 30 },
      {
        content: "",
        stop: true,
        tokens_predicted: 2,
        tokens_evaluated: 30,
        timings: { prompt_n: 10 },
      },
    ]),
    { prompt: 30, completion: 2, cached: 20, events: 1, done: true },
  ],
  [
    "CRLF",
    sse([delta("a"), { usage }, "[DONE]"], "\r\n\r\n"),
    { prompt: 120, completion: 30, cached: 96, events: 1, done: true, id: "chatcmpl-1" },
  ],
  [
    "CR",
    sse([delta("a"), { usage }, "[DONE]"], "\r\r"),
    { prompt: 120, completion: 30, cached: 96, events: 1, done: true, id: "chatcmpl-1" },
  ],
  [
    "a byte order mark, comments, other fields",
    `\ufeff: hi\nid: 3\nretry: 10\n${sse([{ usage }])}`,
    { prompt: 120, completion: 30, cached: 96 },
  ],
  [
    "several lines of data",
    'data: {"usage":\ndata:{"prompt_tokens": 5,\ndata:\ndata: "completion_tokens": 2}}\n\n',
    { prompt: 5, completion: 2 },
  ],
  ["no last blank line", 'data: {"usage":{"prompt_tokens":5}}', { prompt: 5 }],
  ["blanks around colons", 'data: { "usage" : { "prompt_tokens" : 5 } }\n\n', { prompt: 5 }],
  ["no JSON", 'data: usage\n\ndata: {"usage":{\n\ndatax: {}\n\ndata\n\n\n\n:\n', {}],
  ["nothing", "", {}],
];

for (const [name, stream, expected] of STREAMS) {
  test(`a stream: ${name}`, () => check(stream, true, expected));
}

test("large events are read in parts, with the same result", () => {
  for (const size of [4000, 4090, 4096, 4100, 70_000, 300_000]) {
    const text = `${"x".repeat(size)}${DECOY}`;
    const stream = named([
      { type: "response.created", response: { id: "resp_1", text } } as { type: string },
      { type: "response.output_text.delta", delta: text } as { type: string },
      {
        type: "response.completed",
        response: { output: [{ arguments: 3 }], usage: { input_tokens: 40 } },
      } as { type: string },
    ]);
    check(stream, true, { prompt: 40, events: 2, done: true, id: "resp_1" });
  }
});
