/** Kinds of requests that routers and gateways were reported to misread: what each is to be read as. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Gateway, hostNames, type RequestOptions } from "./gateway.ts";

type Body = Record<string, unknown> | string;

/** The debug headers of a body that nothing has come before. */
function read(body: Body, options: RequestOptions = {}) {
  const exchange = new Gateway(hostNames(3)).send(body, options).answer();
  const said = (name: string) => exchange.debug(name);
  return {
    reason: said("reason"),
    key: said("key"),
    chars: Number(said("prompt-chars") ?? -1),
    images: Number(said("images") ?? -1),
    tokens: Number(said("prompt-tokens") ?? -1),
    output: Number(said("output-tokens") ?? -1),
  };
}

const base64 = "iVBORw0KGgo".repeat(4000);

/** A chat whose one message has these parts. */
const chat = (...content: unknown[]) => ({ model: "m", messages: [{ role: "user", content }] });
/** An input whose items come after a question of two letters. */
const input = (...items: unknown[]) => ({
  model: "m",
  input: [{ role: "user", content: "hi" }, ...items],
});
const text = { type: "text", text: "hi" };

const APIS: Record<string, RequestOptions> = {
  chat: {},
  responses: { path: "/v1/responses" },
  messages: { path: "/v1/messages?beta=true" },
  completions: { path: "/v1/completions" },
  generate: { path: "/generate" },
};

test("what differs in an image, a file, a salt or an adapter is another conversation", () => {
  const part = (value: object) => ({ model: "m", input: [{ role: "user", content: [value] }] });
  const before = (item: object) => ({ model: "m", input: [item, { role: "user", content: "hi" }] });
  const bodies: Record<string, (id: string) => Body> = {
    "a file by URL": (id) => part({ type: "input_file", file_url: id }),
    "a file by id": (id) => part({ type: "input_file", file_id: id }),
    "a file's data": (id) => part({ type: "input_file", filename: "a", file_data: id }),
    "an image as a string": (id) => part({ type: "input_image", image_url: id }),
    "a sound": (id) => chat({ type: "input_audio", input_audio: { data: id } }, text),
    "an image kept there": (id) => chat({ type: "image_url", image_url: null, uuid: id }, text),
    "a video": (id) => chat({ type: "video", video: id }, text),
    "a video's frames": (id) => chat({ type: "video", video: [id, "b"] }, text),
    "image embeddings": (id) => chat({ type: "image_embeds", image_embeds: id }, text),
    image_data: (id) => ({ text: "hi", image_data: id }),
    "a list of image_data": (id) => ({ text: "hi", image_data: [id] }),
    video_data: (id) => ({ text: "hi", video_data: [id] }),
    audio_data: (id) => ({ text: "hi", audio_data: [id] }),
    extra_key: (id) => ({ ...chat(text), extra_key: id }),
    "a list of salts": (id) => ({ ...chat(text), cache_salt: [id] }),
    "TGI's adapter": (id) => ({ inputs: "hi", parameters: { adapter_id: id } }),
    "a template": (id) => ({ ...input(), prompt: { id } }),
    "what was compacted": (id) => before({ type: "compaction", encrypted_content: id }),
    "what a command wrote": (id) => before({ type: "shell_call_output", output: [{ stdout: id }] }),
    "a query": (id) => ({ query: id, documents: ["a", "b"] }),
  };
  for (const [what, body] of Object.entries(bodies)) {
    const [one, again, other] = ["a1", "a1", "a2"].map((id) => read(body(id)));
    assert.notEqual(one?.reason, "opaque", what);
    assert.equal(one?.key, again?.key, what);
    assert.notEqual(one?.key, other?.key, what);
  }
});

test("text, images and limits are counted whatever the API calls them", () => {
  const rows: [
    what: string,
    api: string,
    body: Body,
    expected: Partial<ReturnType<typeof read>>,
  ][] = [
    ["rerank", "chat", { model: "m", query: "what", documents: ["abc", "de"] }, { chars: 9 }],
    [
      "rerank of objects",
      "chat",
      { documents: [{ text: "abc" }, { text: "de" }], query: "what" },
      { chars: 9 },
    ],
    ["score", "chat", { model: "m", text_1: "what", text_2: ["abc", "de"] }, { chars: 9 }],
    [
      "a query beside a chat",
      "chat",
      { query: "not in the prompt", documents: ["nor this"], ...chat(text) },
      { chars: 2 },
    ],
    ["ids of a prompt", "completions", { prompt_token_ids: [1, 2, 3] }, { tokens: 3, chars: 0 }],
    [
      "ids, and a limit inside",
      "generate",
      { token_ids: [1, 2], sampling_params: { max_tokens: 7 } },
      { tokens: 2, output: 7 },
    ],
    ["Triton", "generate", { text_input: "abc", max_tokens: 7 }, { chars: 3, output: 7 }],
    [
      "limits of null",
      "chat",
      { ...chat(text), max_completion_tokens: null, max_tokens: 9 },
      { output: 9 },
    ],
    ["a limit as a power", "chat", `{"max_tokens":1e1,"prompt":"hi","n":2.0}`, { output: 20 }],
    [
      "a format named text",
      "responses",
      { ...input(), text: { format: { type: "json_schema", schema: { text: "no" } } } },
      { chars: 2 },
    ],
    [
      "a screenshot",
      "responses",
      input({
        type: "computer_call_output",
        output: { type: "computer_screenshot", image_url: `data:image/png;base64,${base64}` },
      }),
      { images: 1, tokens: 1036 },
    ],
    [
      "a result with an image",
      "responses",
      input({
        type: "function_call_output",
        output: [
          { type: "input_text", text: "abc" },
          { type: "input_image", image_url: base64 },
        ],
      }),
      { chars: 5, images: 1 },
    ],
    [
      "an image that was made",
      "responses",
      input({ type: "image_generation_call", result: base64 }),
      { chars: 2, images: 1 },
    ],
    [
      "a command and what it wrote",
      "responses",
      input({ type: "shell_call_output", output: [{ stdout: "abcd", stderr: "ef" }] }),
      { chars: 8 },
    ],
    [
      "code that was run",
      "responses",
      input({ type: "code_interpreter_call", code: "1+1", outputs: [{ type: "logs", logs: "2" }] }),
      { chars: 6 },
    ],
    [
      "reasoning",
      "responses",
      input({
        type: "reasoning",
        summary: [{ type: "summary_text", text: "abc" }],
        encrypted_content: base64,
      }),
      { chars: 5 },
    ],
    [
      "thinking and its signature",
      "messages",
      {
        messages: [
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "abc", signature: base64 },
              { type: "redacted_thinking", data: base64 },
              text,
            ],
          },
        ],
      },
      { chars: 5, images: 0 },
    ],
    [
      "an image in a result",
      "messages",
      chat({
        type: "tool_result",
        content: [text, { type: "image", source: { type: "base64", data: base64 } }],
      }),
      { chars: 2, images: 1 },
    ],
    [
      "a document of text",
      "messages",
      chat({ type: "document", source: { type: "text", data: "abc" } }),
      { chars: 3, images: 0 },
    ],
    [
      "a search's result",
      "messages",
      chat({ type: "search_result", source: "https://a.example", title: "t", content: [text] }),
      { chars: 2, images: 0 },
    ],
    [
      "a search's results",
      "messages",
      chat(text, {
        type: "web_search_tool_result",
        content: [{ type: "web_search_result", url: "u", encrypted_content: base64 }],
      }),
      { chars: 2, images: 0 },
    ],
    [
      "images beside the text",
      "generate",
      { text: "hi", image_data: [base64, base64] },
      { chars: 2, images: 2 },
    ],
  ];
  for (const [what, api, body, expected] of rows) {
    const got = read(body, APIS[api]) as Record<string, unknown>;
    for (const [name, value] of Object.entries(expected)) {
      assert.equal(got[name], value, `${what}: ${name}`);
    }
  }
});

test("what a body means doesn't depend on who wrote it", () => {
  const plain = read(chat(text)).key;
  const others: [what: string, body: Body, headers: Record<string, string>][] = [
    ["a charset's other name", chat(text), { "content-type": "application/json;charset=utf8" }],
    [
      "another charset, and ASCII",
      chat(text),
      { "content-type": "application/json; charset=ISO-8859-1" },
    ],
    ["upper case", chat(text), { "content-type": "Application/JSON" }],
    ["no encoding", chat(text), { "content-encoding": "identity" }],
    ["a part of the other API", chat({ type: "input_text", text: "hi" }), {}],
    ["a mark for a cache", chat({ ...text, cache_control: { type: "ephemeral", ttl: "1h" } }), {}],
    [
      "a message's own id",
      { model: "m", messages: [{ role: "user", content: "hi", id: "7", uuid: "8" }] },
      {},
    ],
    ["a blank session", { ...chat(text), session_id: " ", prompt_cache_key: "\t" }, {}],
    ["no session", { ...chat(text), session_id: null, metadata: null, conversation: {} }, {}],
  ];
  for (const [what, body, headers] of others)
    assert.equal(read(body, { headers }).key, plain, what);
  for (const path of ["/rerank", "/v2/rerank", "/score"]) {
    assert.notEqual(read({ query: "a", documents: ["b"] }, { path }).reason, "bypass", path);
  }
});
