/** The request reader against a plain reading of the whole value, for any split of any body. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { BodyReader, type Status } from "./bodyreader.ts";
import { Generator } from "./generate.ts";
import { countInput, keeping, watchMemory } from "./inputs.ts";
import { type Json, plain, readJson, wellFormed } from "./json.ts";
import { mutateBytes } from "./mutate.ts";
import { Random } from "./random.ts";
import { readBody } from "./reference/body.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 20_000);
const MEDIA_TOKENS = 1000;
const SEED = 7n;
let reader: BodyReader;
const bodies: Uint8Array[] = [];

before(async () => {
  reader = await BodyReader.start();
  watchMemory("body reader", () => reader.memoryBytes);
  const folder = new URL("../fixtures/bodies/", import.meta.url);
  for (const name of (await readdir(folder)).sort()) {
    bodies.push(new Uint8Array(await readFile(new URL(name, folder))));
  }
});

function read(bytes: Uint8Array, cuts: readonly number[]): Status {
  countInput();
  return reader.read(bytes, cuts);
}

/** Ids and what they stand for: each must have one of the other. */
class Pairing {
  private readonly forms = new Map<bigint, string>();
  private readonly ids = new Map<string, bigint>();

  check(id: bigint, form: string): void {
    const short = createHash("sha1").update(form).digest("hex");
    const knownForm = this.forms.get(id);
    const knownId = this.ids.get(short);
    if (knownForm === undefined && knownId === undefined) {
      this.forms.set(id, short);
      this.ids.set(short, id);
    } else {
      assert.equal(knownId, id, `another id for ${form}`);
      assert.equal(knownForm, short, `the same id for ${form}`);
    }
  }
}

const boundaryIds = new Pairing();
const conversations = new Pairing();
const tooDeep = (json: Json, depth = 0): boolean =>
  depth > 60 ||
  (json.kind === "array" && json.items.some((item) => tooDeep(item, depth + 1))) ||
  (json.kind === "object" && json.pairs.some(([, value]) => tooDeep(value, depth + 1)));

/** Compares everything that is known of one body. */
function compare(bytes: Uint8Array, cuts: readonly number[], json: Json | undefined): void {
  const status = read(bytes, cuts);
  if (json === undefined) {
    assert.equal(status, "malformed");
    return;
  }
  const e = readBody(json);
  assert.equal(status, e.isPrompt ? "complete" : "no prompt");
  const model = reader.model().toString("latin1");
  assert.equal(model, Buffer.from(e.model).subarray(0, 256).toString("latin1"));
  const expected = {
    stream: e.stream ? 1 : 0,
    outputCap: e.outputCap,
    answers: e.answers,
    bestOf: e.bestOf,
    promptCodePoints: e.prompt.codePoints,
    promptBytes: e.prompt.bytes,
    tokenIds: e.prompt.ids,
    images: e.prompt.images,
    audios: e.prompt.audios,
    prompts: e.prompts,
    toolsBytes: e.toolsBytes,
    hasTools: e.toolsBytes > 0 ? 1 : 0,
    nonceBytes: e.nonceBytes,
    sessionRank: e.session?.rank ?? -1,
    sessionIsResponseId: e.session?.rank === 0 ? 1 : 0,
  };
  const got = Object.fromEntries(
    Object.keys(expected).map((name) => [name, reader.fact(name) >> 0]),
  );
  assert.deepEqual(got, expected);
  const hashes = {
    modelHash: e.model,
    userHash: e.user,
    cacheSaltHash: e.cacheSalt,
    previousResponseIdHash: e.previousResponseId,
    sessionHash: e.session?.text ?? "",
  };
  const found = Object.keys(hashes).map((name) => [name, reader.hashFact(name)] as const);
  conversations.check(reader.conversation(SEED), e.opening);
  compareChain(e.boundaries);
  for (const [name, hash] of found) {
    const text = hashes[name as keyof typeof hashes];
    if (text !== undefined) assert.equal(hash, reader.hashOf(text), name);
  }
}

function compareChain(boundaries: ReturnType<typeof readBody>["boundaries"]): void {
  const chain = reader.chain(SEED, MEDIA_TOKENS);
  const got = chain.map(({ bytes, fixed }) => [bytes, fixed]);
  const expected = boundaries.map((b) => [b.bytes, b.ids + b.media * MEDIA_TOKENS]);
  assert.deepEqual(got, expected);
  for (const [i, { id }] of chain.entries()) boundaryIds.check(id, boundaries[i]?.before ?? "");
}

function check(bytes: Uint8Array, cuts: readonly number[]): void {
  keeping(bytes, () => checkNow(bytes, cuts));
}

function checkNow(bytes: Uint8Array, cuts: readonly number[]): void {
  const json = readJson(bytes);
  if (json && tooDeep(json)) return;
  try {
    if (json) assert.deepEqual(plain(json), JSON.parse(new TextDecoder().decode(bytes), revive));
    compare(bytes, cuts, json);
  } catch (error) {
    const body = new TextDecoder().decode(bytes);
    throw new Error(`${(error as Error).message}\nin ${body}\ncut at ${cuts}`);
  }
}

function revive(_key: string, value: unknown): unknown {
  if (typeof value === "string") return wellFormed(value);
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [wellFormed(k), v]));
}

test("every split of every body", () => {
  for (const bytes of bodies) {
    const json = readJson(bytes);
    for (let cut = 0; cut <= bytes.length; cut++) compare(bytes, [cut], json);
    compare(
      bytes,
      Array.from(bytes, (_, i) => i),
      json,
    );
  }
});

test(`${RUNS} generated bodies`, () => {
  const random = new Random(2);
  const generator = new Generator(random);
  for (let i = 0; i < RUNS; i++) {
    const bytes = generator.body();
    check(bytes, random.cuts(bytes.length));
  }
});

test(`${RUNS} mutated bodies`, () => {
  const random = new Random(3);
  const generator = new Generator(random);
  for (let i = 0; i < RUNS; i++) {
    const body = random.below(2) === 0 ? random.pick(bodies) : generator.body();
    const bytes = mutateBytes(body, random);
    check(bytes, random.cuts(bytes.length));
  }
});

test("bodies cut off anywhere share their boundaries with the whole", () => {
  for (const bytes of bodies) {
    if (read(bytes, []) !== "complete") continue;
    const whole = new Set(ids());
    const points = reader.fact("promptCodePoints");
    for (let cut = 0; cut < bytes.length; cut++) {
      assert.equal(reader.readStart(bytes, cut), "truncated");
      assert.ok(reader.fact("promptCodePoints") <= points);
      for (const id of ids()) assert.ok(whole.has(id), `cut at ${cut}`);
    }
  }

  function ids(): bigint[] {
    return reader.chain(SEED, MEDIA_TOKENS).map(({ id }) => id);
  }
});
