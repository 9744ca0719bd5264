import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Gateway, hostNames } from "./gateway.ts";

const FIXTURES = new URL("../fixtures/bodies/", import.meta.url);

const CASES = new URL("../fixtures/cases/", import.meta.url);

function body(name: string, folder = FIXTURES): string {
  return readFileSync(new URL(name, folder), "utf8");
}

/** Decides for a body and gives the debug headers of its answer. */
function read(
  bytes: string | Uint8Array,
  options: { path?: string; headers?: Record<string, string>; chunk?: number } = {},
): Record<string, string | undefined> {
  const gateway = new Gateway(hostNames(3));
  const exchange = gateway.send(bytes, options).answer();
  const names = ["reason", "model", "key", "prompt-chars", "images", "prompt-tokens"];
  return Object.fromEntries(names.map((name) => [name, exchange.debug(name)]));
}

/** What each body of the cases says, whatever the edges of its chunks. */
const READINGS: { file: string; path?: string; expect: Record<string, string | undefined> }[] = [
  { file: "BC-01a.json", expect: { model: "qwen3-32b-instruct" } },
  { file: "BC-01b.json", expect: { model: "qwen3-32b-instruct" } },
  { file: "BC-04a.json", expect: { "prompt-chars": "23", images: "1" } },
  { file: "BC-05.json", expect: { "prompt-chars": "38", model: "qwen3-32b-instruct" } },
  { file: "BC-05b.json", expect: { reason: "opaque", key: undefined } },
  { file: "BC-06a.json", path: "/v1/completions", expect: { "prompt-tokens": "11" } },
  { file: "BC-06b.json", path: "/v1/completions", expect: { "prompt-tokens": "9" } },
  { file: "BC-06c.json", path: "/v1/completions", expect: { "prompt-chars": "29" } },
  { file: "BC-06d.json", path: "/v1/completions", expect: { "prompt-chars": "21" } },
  { file: "BC-08a.json", expect: { "prompt-chars": "9" } },
  { file: "BC-08b.json", expect: { "prompt-chars": "9" } },
  { file: "BC-08c.json", expect: { reason: "cold" } },
];

for (const { file, path, expect } of READINGS) {
  test(`${file} is read right, in one piece and byte by byte`, () => {
    for (const chunk of [1_000_000, 1]) {
      const got = read(body(file), { ...(path ? { path } : {}), chunk });
      for (const [name, value] of Object.entries(expect)) assert.equal(got[name], value, name);
    }
  });
}

test("token ids sent twice go to one host (BC-06)", () => {
  const gateway = new Gateway(hostNames(4));
  const send = () => gateway.send(body("BC-06a.json"), { path: "/v1/completions" }).answer();
  assert.equal(send().target, send().target);
});

test("what can't be read goes to the least loaded, and an empty user is no session (BC-05)", () => {
  const gateway = new Gateway(hostNames(4));
  const targets = Array.from({ length: 8 }, () => gateway.send(body("BC-05b.json")).target);
  assert.equal(new Set(targets).size, 4);
});

test("the same text in another spelling is the same conversation (BC-08)", () => {
  assert.equal(read(body("BC-08a.json")).key, read(body("BC-08b.json")).key);
});

test("other images are other conversations, equal ones the same (BC-04)", () => {
  const a = read(body("BC-04a.json")).key;
  assert.equal(read(body("BC-04a.json")).key, a);
  assert.notEqual(read(body("BC-04b.json")).key, a);
});

test("a 2 MB image counts as an image, not as text (BC-04)", () => {
  const url = `data:image/png;base64,${"iVBORw0K".repeat(125_000)}`;
  const content = [
    { type: "image_url", image_url: { url } },
    { type: "text", text: "What does the sign say?" },
  ];
  const got = read(JSON.stringify({ model: "m", messages: [{ role: "user", content }] }));
  assert.ok(Number(got["prompt-tokens"]) < 5000, got["prompt-tokens"]);
});

test("compressed, foreign and broken bodies are opaque; a byte order mark is not (BC-10)", () => {
  const cases = JSON.parse(body("BC-10.json", CASES)) as {
    requests: { headers: Record<string, string>; body_hex: string }[];
  };
  const reasons = cases.requests.map(({ headers, body_hex }) =>
    read(Buffer.from(body_hex, "hex"), { headers }),
  );
  assert.deepEqual(
    reasons.map(({ reason }) => reason),
    ["opaque", "opaque", "cold", "opaque"],
  );
  assert.equal(reasons[2]?.model, "qwen3-32b-instruct");
});

test("a multipart upload is opaque (BC-14)", () => {
  const [, ...parts] = body("BC-14.http", CASES).split(/\r?\n\r?\n/);
  const got = read(parts.join("\r\n\r\n"), {
    path: "/v1/audio/transcriptions",
    headers: { "content-type": "multipart/form-data; boundary=----harbour42" },
  });
  assert.equal(got.reason, "opaque");
  assert.notEqual(got.model, "decoy");
});

test("what engines answer 4xx to is opaque: trailing garbage, no prompt, half a body", () => {
  const bodies = [
    '{"model":"m","messages":[{"role":"user","content":"hi"}]} x',
    '{"model":"m"}',
    '{"model":"m","messages":[{"role":"user","content":"hi"',
    "[]",
    "null",
    "not json",
  ];
  for (const text of bodies) assert.equal(read(text).reason, "opaque", text);
});

test("deep nesting is read past (BC-12)", () => {
  for (const depth of [64, 1000, 100_000]) {
    const nested = `{"x":${"[".repeat(depth)}${"]".repeat(depth)},"model":"m1","messages":[{"role":"user","content":"deep"}]}`;
    const got = read(nested);
    if (depth <= 1000) assert.equal(got.model, "m1", `${depth}`);
    else assert.ok(["cold", "opaque"].includes(got.reason ?? ""), got.reason);
  }
});

test("the nonce of a coding agent is skipped for identity, and promises no cache hit (BC-16)", () => {
  const gateway = new Gateway(hostNames(4));
  const first = gateway.send(body("BC-16a.json"), { path: "/v1/messages" });
  first.answer();
  const next = gateway.send(body("BC-16b.json"), { path: "/v1/messages" });
  assert.equal(next.target, first.target);
  next.answer();
  assert.equal(next.debug("key"), first.debug("key"));
  assert.equal(next.debug("cached-tokens"), "0");
});
