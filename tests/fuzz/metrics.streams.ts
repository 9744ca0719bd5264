/** What event streams say about their tokens, cut at every byte. */
import { before, test } from "node:test";
import { check, DECOY, type Expected, startReaders, usage } from "./metrics.check.ts";

before(startReaders);

/** Events as a stream. */
const sse = (events: (object | string)[], end = "\n\n"): string =>
  events
    .map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}${end}`)
    .join("");

/** Anthropic and Responses name each event. */
const named = (events: { type: string }[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

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
