/** What whole answers say about their tokens, cut at every byte. */
import { before, test } from "node:test";
import { check, DECOY, type Expected, startReaders, usage } from "./metrics.check.ts";

before(startReaders);

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
