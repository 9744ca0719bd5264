import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { ROOT } from "../../tools/paths.ts";
import { random, words } from "../../tools/seeded.ts";
import { ALIKE, type Answer, gateway, post, type Seen, sinks } from "./harness.ts";

const upstreams = await sinks(4);
const envoy = await gateway(
  upstreams.map(({ host }) => host),
  ALIKE,
  { workers: 2 },
);

function fixture(name: string): Buffer {
  return readFileSync(join(ROOT, "tests", "fixtures", "bodies", name));
}

async function ask(
  body: Buffer | object,
  path = "/v1/chat/completions",
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await post(envoy.port, body, { path, headers });
  assert.equal(answer.status, 200);
  if (Buffer.isBuffer(body)) {
    const seen = JSON.parse(answer.body.toString()) as Seen;
    assert.equal(seen.sha256, createHash("sha256").update(body).digest("hex"));
  }
  return answer;
}

/** One debug header. */
function debug(answer: Answer, name: string): string | undefined {
  return answer.headers[`x-warmroute-${name}`] as string | undefined;
}

test("facts of the fixtures are told right, and they arrive as they were sent (BC-01, BC-04, BC-05, BC-06, BC-08)", async () => {
  const rows: [file: string, path: string, expected: Record<string, string | undefined>][] = [
    ["BC-01a.json", "/v1/chat/completions", { model: "qwen3-32b-instruct" }],
    ["BC-01b.json", "/v1/chat/completions", { model: "qwen3-32b-instruct" }],
    ["BC-04a.json", "/v1/chat/completions", { "prompt-chars": "23", images: "1" }],
    ["BC-05.json", "/v1/chat/completions", { "prompt-chars": "38" }],
    ["BC-05b.json", "/v1/chat/completions", { reason: "opaque", key: undefined }],
    ["BC-06a.json", "/v1/completions", { "prompt-tokens": "11" }],
    ["BC-06b.json", "/v1/completions", { "prompt-tokens": "9" }],
    ["BC-06c.json", "/v1/completions", { "prompt-chars": "29" }],
    ["BC-06d.json", "/v1/completions", { "prompt-chars": "21" }],
    ["BC-08a.json", "/v1/chat/completions", { "prompt-chars": "9" }],
    ["BC-08b.json", "/v1/chat/completions", { "prompt-chars": "9" }],
    ["BC-08c.json", "/v1/chat/completions", { "prompt-chars": "22" }],
  ];
  for (const [file, path, expected] of rows) {
    const answer = await ask(fixture(file), path);
    for (const [name, value] of Object.entries(expected)) {
      assert.equal(debug(answer, name), value, `${file}: ${name}`);
    }
  }
});

test("the same content in another spelling is the same conversation (BC-08)", async () => {
  const [a, b] = await Promise.all(["BC-08a.json", "BC-08b.json"].map((f) => ask(fixture(f))));
  assert.equal(debug(a as Answer, "key"), debug(b as Answer, "key"));
});

test("another image is another conversation, the same image the same (BC-04)", async () => {
  const a = await ask(fixture("BC-04a.json"));
  const b = await ask(fixture("BC-04b.json"));
  const again = await ask(fixture("BC-04a.json"));
  assert.notEqual(debug(a, "key"), debug(b, "key"));
  assert.equal(debug(a, "key"), debug(again, "key"));
});

test("a nonce at the head of the system prompt changes nothing (BC-16)", async () => {
  const a = await ask(fixture("BC-16a.json"), "/v1/messages");
  const b = await ask(fixture("BC-16b.json"), "/v1/messages");
  assert.equal(debug(a, "key"), debug(b, "key"));
  assert.equal(debug(a, "host"), debug(b, "host"));
});

test("one prefix goes to one host, another position or role does not match (BC-18)", async () => {
  const a = await ask(fixture("BC-18a.json"));
  const b = await ask(fixture("BC-18b.json"));
  const c = await ask(fixture("BC-18c.json"));
  assert.equal(debug(a, "host"), debug(b, "host"));
  assert.equal(debug(b, "reason"), "prefix");
  assert.equal(debug(c, "reason"), "cold");
});

test("model, adapter and cache salt are part of the key (BC-19)", async () => {
  const messages = [
    { role: "system", content: "Shared text. ".repeat(50) },
    { role: "user", content: "go" },
  ];
  const variants = [
    { model: "base-8b" },
    { model: "fr-lora" },
    { model: "es-lora" },
    { model: "base-8b", cache_salt: "fr-lora" },
    { model: "base-8b", cache_salt: "tenant-2" },
  ];
  const keys = new Set<string | undefined>();
  for (const variant of variants) keys.add(debug(await ask({ ...variant, messages }), "key"));
  assert.equal(keys.size, variants.length);
});

test("unrelated short prompts match nothing and spread (BC-19)", async () => {
  const rand = random(19);
  const counts = new Map<string | undefined, number>();
  for (let i = 0; i < 90; i++) {
    const content = `${i}: ${words(rand, 12)}?`;
    const answer = await ask({
      model: "qwen3-32b-instruct",
      messages: [{ role: "user", content }],
    });
    assert.equal(debug(answer, "cached-tokens") ?? "0", "0", content);
    const host = debug(answer, "host");
    counts.set(host, (counts.get(host) ?? 0) + 1);
  }
  assert.ok(Math.max(...counts.values()) <= 45, [...counts.values()].join(", "));
});

test("an empty session id is none, a per-request id is never used (BC-05)", async () => {
  const body = () => ({
    model: "m",
    messages: [{ role: "user", content: `Unlike any other: ${Math.random()}` }],
  });
  for (const headers of [{ "x-session-id": "" }, { "x-request-id": "same-for-all" }]) {
    const keys = new Set<string | undefined>();
    for (let i = 0; i < 8; i++) {
      keys.add(debug(await ask(body(), undefined, headers as Record<string, string>), "key"));
    }
    assert.equal(keys.size, 8, JSON.stringify(headers));
  }
  const named = new Set<string | undefined>();
  for (let i = 0; i < 8; i++) {
    named.add(debug(await ask(body(), undefined, { "x-session-id": "one" }), "key"));
  }
  assert.equal(named.size, 1);
});

test("the key does not change as turns are added, whatever the worker", async () => {
  const messages = [
    { role: "system", content: "Answer briefly." },
    { role: "user", content: "How deep is the harbour?" },
  ];
  const keys = new Set<string | undefined>();
  for (let turn = 0; turn < 10; turn++) {
    keys.add(debug(await ask({ model: "m", messages }), "key"));
    messages.push({ role: "assistant", content: `Answer ${turn}` });
    messages.push({ role: "user", content: `And then ${turn}?` });
  }
  assert.equal(keys.size, 1);
});
