/** The scanner against `JSON.parse`, for any split of any bytes. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { instantiate } from "./build.ts";
import { wellFormed } from "./json.ts";
import { mutateBytes } from "./mutate.ts";
import { Random } from "./random.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 20_000);
const COMPLETE = 1;
const MALFORMED = 2;
const TOO_DEEP = 3;

interface Echo {
  memory: WebAssembly.Memory;
  inputAddress(): number;
  outputAddress(): number;
  outputLength(): number;
  badSpanCount(): number;
  reset(): void;
  feed(offset: number, len: number): void;
  finish(): number;
}

let echo: Echo;
let bodies: Uint8Array[] = [];

before(async () => {
  echo = (await instantiate("echo")) as unknown as Echo;
  const folder = new URL("../fixtures/bodies/", import.meta.url);
  for (const name of (await readdir(folder)).sort()) {
    bodies.push(new Uint8Array(await readFile(new URL(name, folder))));
  }
  bodies = bodies.concat(TEXTS.map((text) => new TextEncoder().encode(text)));
});

/** Grammar at its edges. */
const TEXTS: readonly string[] = [
  "",
  " ",
  "0",
  "-0",
  "-",
  "01",
  "1.",
  "1.5",
  "1e5",
  "1E+5",
  "1e",
  "-1.25e-300",
  "1e999",
  "+1",
  ".5",
  "true",
  "tru",
  "truex",
  "nul",
  "null ",
  "[]",
  "[1]",
  "[1,]",
  "[,1]",
  "[1 2]",
  "{}",
  '{"a":1}',
  '{"a":1,}',
  '{"a"}',
  '{"a":}',
  "{a:1}",
  '{"a":1 "b":2}',
  "[}",
  "{]",
  "[[[[]]]]",
  "[] []",
  "1 2",
  '"',
  '"a',
  '"a"',
  '"\\u00e9"',
  '"\\uD83D\\uDE80"',
  '"\\uD83D"',
  '"\\uDE80x\\uD83D\\n"',
  '"\\ud83d\\ud83d\\ude80"',
  '"\\x"',
  '"\\u12g4"',
  '"\\/\\b\\f\\n\\r\\t\\"\\\\"',
  '"\t"',
  '"\u007f"',
  '\ufeff{"a":[1,"é🚀東"]}',
  "\ufeff",
  "\ufeff\ufeff1",
  " \ufeff1",
  '{"\\u006dodel":"m","__proto__":1}',
  `{"${"k".repeat(40)}":"${"v".repeat(700)}\\n${"w".repeat(300)}"}`,
  `["${"東京".repeat(400)}","${"é\\n".repeat(500)}"]`,
];

function run(bytes: Uint8Array, cuts: readonly number[]): { state: number; text: string } {
  const base = echo.inputAddress();
  new Uint8Array(echo.memory.buffer, base, bytes.length).set(bytes);
  echo.reset();
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    echo.feed(from, cut - from);
    from = cut;
  }
  const state = echo.finish();
  assert.equal(echo.badSpanCount(), 0);
  const out = new Uint8Array(echo.memory.buffer, echo.outputAddress(), echo.outputLength());
  return { state, text: new TextDecoder().decode(out) };
}

function allWellFormed(value: unknown): unknown {
  if (typeof value === "string") return wellFormed(value);
  if (Array.isArray(value)) return value.map(allWellFormed);
  if (value !== null && typeof value === "object") {
    const pairs = Object.entries(value).map(([k, v]) => [wellFormed(k), allWellFormed(v)]);
    return Object.fromEntries(pairs);
  }
  return value;
}

/** What `JSON.parse` makes of it, as compared text; `undefined` where it refuses. */
function reference(bytes: Uint8Array): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
  return JSON.stringify(allWellFormed(value));
}

function compare(bytes: Uint8Array, cuts: readonly number[], wanted: string | undefined): void {
  const got = run(bytes, cuts);
  const where = () => `${JSON.stringify(new TextDecoder().decode(bytes))} cut at ${cuts}`;
  if (wanted === undefined) {
    assert.equal(got.state, MALFORMED, where());
    return;
  }
  assert.equal(got.state, COMPLETE, where());
  const text = JSON.stringify(allWellFormed(JSON.parse(got.text)));
  if (text !== wanted) assert.equal(text, wanted, where());
}

function randomCuts(length: number, random: Random): number[] {
  const cuts = Array.from({ length: random.below(6) }, () => random.below(length + 1));
  return cuts.sort((a, b) => a - b);
}

test("every split of every body", () => {
  for (const bytes of bodies) {
    const wanted = reference(bytes);
    for (let cut = 0; cut <= bytes.length; cut++) compare(bytes, [cut], wanted);
    compare(
      bytes,
      Array.from({ length: bytes.length }, (_, i) => i),
      wanted,
    );
  }
});

test(`${RUNS} seeded mutations`, () => {
  const random = new Random(1);
  for (let i = 0; i < RUNS; i++) {
    const bytes = mutateBytes(random.pick(bodies), random);
    compare(bytes, randomCuts(bytes.length, random), reference(bytes));
  }
});

test("depth", () => {
  const nested = (depth: number) => new TextEncoder().encode("[".repeat(depth) + "]".repeat(depth));
  assert.equal(run(nested(16384), [7]).state, COMPLETE);
  assert.equal(run(nested(16385), [7]).state, TOO_DEEP);
  assert.equal(run(nested(100_000), []).state, TOO_DEEP);
  const mixed = new TextEncoder().encode(`${'[{"a":'.repeat(64)}1${"}]".repeat(64)}`);
  assert.equal(run(mixed, [100]).state, COMPLETE);
});
