/** The request reader against a plain reading of the whole value, for any split of any body. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { instantiate } from "./build.ts";
import { Generator } from "./generate.ts";
import { countInput, keeping, watchMemory } from "./inputs.ts";
import { type Json, plain, readJson, wellFormed } from "./json.ts";
import { mutateBytes } from "./mutate.ts";
import { Random } from "./random.ts";
import { readBody } from "./reference/body.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 20_000);
const MEDIA_TOKENS = 1000;
const SEED = 7n;
const COMPLETE = 0;
const TRUNCATED = 1;
const MALFORMED = 2;
const NO_PROMPT = 3;

interface Reader {
  memory: WebAssembly.Memory;
  inputAddress(): number;
  begin(): void;
  feed(offset: number, len: number): void;
  finish(isTruncated: number): number;
  seal(seed: bigint, mediaTokens: number): number;
  idAt(i: number): bigint;
  bytesAt(i: number): number;
  fixedAt(i: number): number;
  conversation(seed: bigint, session: bigint): bigint;
  hashOf(offset: number, len: number): bigint;
  modelPtr(): number;
  [fact: string]: unknown;
}

let reader: Reader;
const bodies: Uint8Array[] = [];

before(async () => {
  reader = (await instantiate("reader")) as unknown as Reader;
  watchMemory("body reader", () => reader.memory.buffer.byteLength);
  const folder = new URL("../fixtures/bodies/", import.meta.url);
  for (const name of (await readdir(folder)).sort()) {
    bodies.push(new Uint8Array(await readFile(new URL(name, folder))));
  }
});

function load(bytes: Uint8Array): void {
  new Uint8Array(reader.memory.buffer, reader.inputAddress(), bytes.length).set(bytes);
}

function read(bytes: Uint8Array, cuts: readonly number[]): number {
  countInput();
  load(bytes);
  reader.begin();
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    reader.feed(from, cut - from);
    from = cut;
  }
  return reader.finish(0);
}

function fact(name: string): number {
  return (reader[name] as () => number)();
}

function hashFact(name: string): bigint {
  return (reader[name] as () => bigint)();
}

function hashOf(text: string): bigint {
  if (text === "") return 0n;
  const bytes = Buffer.from(text);
  load(bytes);
  return reader.hashOf(0, bytes.length);
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
    assert.equal(status, MALFORMED);
    return;
  }
  const e = readBody(json);
  assert.equal(status, e.isPrompt ? COMPLETE : NO_PROMPT);
  const model = Buffer.from(reader.memory.buffer, reader.modelPtr(), fact("modelLen"));
  assert.equal(model.toString("latin1"), Buffer.from(e.model).subarray(0, 256).toString("latin1"));
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
  const got = Object.fromEntries(Object.keys(expected).map((name) => [name, fact(name) >> 0]));
  assert.deepEqual(got, expected);
  const hashes = {
    modelHash: e.model,
    userHash: e.user,
    cacheSaltHash: e.cacheSalt,
    previousResponseIdHash: e.previousResponseId,
    sessionHash: e.session?.text ?? "",
  };
  const found = Object.keys(hashes).map((name) => [name, hashFact(name)] as const);
  conversations.check(reader.conversation(SEED, 0n), e.opening);
  compareChain(e.boundaries);
  for (const [name, hash] of found) {
    const text = hashes[name as keyof typeof hashes];
    if (text !== undefined) assert.equal(hash, hashOf(text), name);
  }
}

function compareChain(boundaries: ReturnType<typeof readBody>["boundaries"]): void {
  const length = reader.seal(SEED, MEDIA_TOKENS);
  const got = Array.from({ length }, (_, i) => [reader.bytesAt(i), reader.fixedAt(i)]);
  const expected = boundaries.map((b) => [b.bytes, b.ids + b.media * MEDIA_TOKENS]);
  assert.deepEqual(got, expected);
  for (const [i, boundary] of boundaries.entries())
    boundaryIds.check(reader.idAt(i), boundary.before);
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

function randomCuts(length: number, random: Random): number[] {
  const cuts = Array.from({ length: random.below(5) }, () => random.below(length + 1));
  return cuts.sort((a, b) => a - b);
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
    check(bytes, randomCuts(bytes.length, random));
  }
});

test(`${RUNS} mutated bodies`, () => {
  const random = new Random(3);
  const generator = new Generator(random);
  for (let i = 0; i < RUNS; i++) {
    const body = random.below(2) === 0 ? random.pick(bodies) : generator.body();
    const bytes = mutateBytes(body, random);
    check(bytes, randomCuts(bytes.length, random));
  }
});

test("bodies cut off anywhere share their boundaries with the whole", () => {
  for (const bytes of bodies) {
    if (read(bytes, []) !== COMPLETE) continue;
    const whole = new Set(ids());
    const points = fact("promptCodePoints");
    for (let cut = 0; cut < bytes.length; cut++) {
      load(bytes);
      reader.begin();
      reader.feed(0, cut);
      assert.equal(reader.finish(1), TRUNCATED);
      assert.ok(fact("promptCodePoints") <= points);
      for (const id of ids()) assert.ok(whole.has(id), `cut at ${cut}`);
    }
  }

  function ids(): bigint[] {
    return Array.from({ length: reader.seal(SEED, MEDIA_TOKENS) }, (_, i) => reader.idAt(i));
  }
});
