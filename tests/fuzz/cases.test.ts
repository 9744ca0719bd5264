/** Bodies that broke other gateways: what the reader must say of each. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { BodyReader, type Status } from "./bodyreader.ts";

const SEED = 3n;
const MEDIA_TOKENS = 1000;
let reader: BodyReader;

before(async () => {
  reader = await BodyReader.start();
});

interface Result {
  status: Status;
  model: string;
  key: bigint;
  chain: { id: bigint; bytes: number }[];
}

function read(body: Uint8Array | string): Result {
  const status = reader.read(typeof body === "string" ? Buffer.from(body) : body);
  return {
    status,
    model: reader.model().toString(),
    key: reader.conversation(SEED),
    chain: reader.chain(SEED, MEDIA_TOKENS),
  };
}

async function fixture(name: string): Promise<Result> {
  return read(await readFile(new URL(`../fixtures/bodies/${name}.json`, import.meta.url)));
}

/** Bytes of prompt that two chains share. */
function shared(a: Result, b: Result): number {
  const ids = new Set(b.chain.map(({ id }) => id));
  return Math.max(0, ...a.chain.filter(({ id }) => ids.has(id)).map(({ bytes }) => bytes));
}

test("each body gives its facts (BC-01, BC-04, BC-05, BC-06, BC-08, BC-16)", async () => {
  const table: [name: string, facts: Record<string, number | string>][] = [
    ["BC-01a", { model: "qwen3-32b-instruct", stream: 1, promptCodePoints: 417 }],
    ["BC-01b", { model: "qwen3-32b-instruct", hasTools: 1, promptCodePoints: 68 }],
    ["BC-04a", { model: "qwen2.5-vl-7b", images: 1, promptCodePoints: 23 }],
    ["BC-04b", { model: "qwen2.5-vl-7b", images: 1, promptCodePoints: 23 }],
    ["BC-05", { model: "qwen3-32b-instruct", promptCodePoints: 38, sessionRank: -1 }],
    ["BC-05b", { model: "", promptCodePoints: 0, outputCap: 0, stream: 0, status: "no prompt" }],
    ["BC-06a", { tokenIds: 11, prompts: 1, promptCodePoints: 0, outputCap: 8 }],
    ["BC-06b", { tokenIds: 9, prompts: 2, promptCodePoints: 0 }],
    ["BC-06c", { tokenIds: 0, prompts: 2, promptCodePoints: 29 }],
    ["BC-06d", { tokenIds: 0, prompts: 1, promptCodePoints: 21 }],
    ["BC-08a", { model: "qwen3-32b-instruct", promptCodePoints: 9, promptBytes: 15 }],
    ["BC-08b", { model: "qwen3-32b-instruct", promptCodePoints: 9, promptBytes: 15 }],
    ["BC-08c", { promptCodePoints: 22 }],
    ["BC-16a", { outputCap: 256, nonceBytes: 79 }],
  ];
  for (const [name, facts] of table) {
    const result = await fixture(name);
    assert.equal(result.status, facts.status ?? "complete", name);
    for (const [key, value] of Object.entries(facts)) {
      if (key === "status") continue;
      assert.equal(key === "model" ? result.model : reader.fact(key), value, `${name}: ${key}`);
    }
  }
});

test("the user at the top counts, not one in a schema (BC-01)", async () => {
  for (const name of ["BC-01a", "BC-01b"]) {
    await fixture(name);
    assert.equal(reader.hashFact("userHash"), reader.hashOf("desk-7"));
  }
});

test("spelling doesn't change the conversation, images do (BC-04, BC-08)", async () => {
  assert.equal((await fixture("BC-08a")).key, (await fixture("BC-08b")).key);
  assert.notEqual((await fixture("BC-04a")).key, (await fixture("BC-04b")).key);
  assert.equal((await fixture("BC-04a")).key, (await fixture("BC-04a")).key);
});

test("a nonce line ahead of the system prompt hides nothing (BC-16)", async () => {
  const a = await fixture("BC-16a");
  const b = await fixture("BC-16b");
  assert.equal(a.key, b.key);
  assert.deepEqual(b.chain.slice(0, a.chain.length), a.chain);
});

test("prefixes are shared from the start, by position and role (BC-18)", async () => {
  const [a, b, c] = [await fixture("BC-18a"), await fixture("BC-18b"), await fixture("BC-18c")];
  assert.ok(shared(a, b) >= 1900);
  assert.equal(shared(a, c), 0);
  assert.equal(shared(b, c), 0);
  const prompt = (text: string) => read(JSON.stringify({ prompt: text }));
  const both = prompt("Fog again over the breakwater. What a bright morning in the port.");
  assert.equal(shared(both, prompt("What a bright morning in the port.")), 0);
  assert.ok(shared(both, prompt("Fog again over the breakwater.")) >= 16);
});

test("unrelated short prompts share nothing (BC-19)", () => {
  const seen = new Map<bigint, string>();
  for (const one of ["wind", "berth", "radio", "gale", "rope", "keel", "fog"]) {
    for (const two of ["oar", "lamp", "sail", "tide", "dock"]) {
      const content = `${one} ${two}?`;
      const messages = [{ role: "user", content }];
      for (const { id } of read(JSON.stringify({ model: "m", messages })).chain) {
        assert.equal(seen.get(id), undefined);
        seen.set(id, content);
      }
    }
  }
});

test("a byte order mark is passed over, other encodings are refused (BC-10)", () => {
  const json = '{"model":"m","messages":[{"role":"user","content":"Is the bridge open?"}]}';
  assert.equal(read(`\ufeff${json}`).model, "m");
  assert.equal(read(Buffer.from(json, "utf16le")).status, "malformed");
  assert.equal(read(Buffer.from([0x1f, 0x8b, 8, 0, 0])).status, "malformed");
});

test("size and place of a field don't matter (BC-01)", () => {
  const content = "ferry ".repeat(50_000);
  const body = {
    messages: [{ role: "user", content }],
    stream: true,
    user: "desk-7",
    model: "m-1",
  };
  assert.equal(read(JSON.stringify(body)).model, "m-1");
  assert.equal(reader.fact("promptCodePoints"), 300_000);
  assert.equal(reader.hashFact("userHash"), reader.hashOf("desk-7"));
});

test("a big image counts as one (BC-04)", () => {
  const url = `data:image/png;base64,${"QUJD".repeat(500_000)}`;
  const content = [
    { type: "image_url", image_url: { url } },
    { type: "text", text: "What is it?" },
  ];
  assert.equal(read(JSON.stringify({ messages: [{ role: "user", content }] })).status, "complete");
  assert.equal(reader.fact("promptCodePoints"), 11);
  assert.equal(reader.fact("images"), 1);
});

test("nesting is read to a bound, and never traps (BC-12)", () => {
  const nested = (depth: number) =>
    `{"x":${"[".repeat(depth)}${"]".repeat(depth)},"model":"m","messages":[{"role":"user","content":"deep"}]}`;
  for (const depth of [64, 1000, 16_383]) assert.equal(read(nested(depth)).model, "m");
  assert.equal(read(nested(100_000)).status, "malformed");
  assert.equal(read(nested(1)).status, "complete");
});
