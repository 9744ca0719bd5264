/** The scanner against `JSON.parse`, for any split of any bytes. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { instantiate } from "./build.ts";
import { countInput, keeping, watchMemory } from "./inputs.ts";
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
  watchMemory("scanner", () => echo.memory.buffer.byteLength);
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
  countInput();
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
    const cuts = random.cuts(bytes.length, 5);
    keeping(bytes, () => compare(bytes, cuts, reference(bytes)));
  }
});

/** What strings are made of: plain runs, each kind of escape, characters of each length, broken ones. */
const PIECES: readonly (string | number[])[] = [
  ...'\\n \\" \\\\ \\/ \\t \\u2019 \\u00e9 \\u0000 \\ud83d\\ude80 \\ud83d \\ude80 \\uD83Dx'.split(
    " ",
  ),
  ..."é ’ 東京 🚀 \u07ff \u0800 \ud7ff \ue000 \uffff \u{10000} \u{10ffff} 漢字かな交じり文 привет".split(
    " ",
  ),
  [0x80],
  [0xc3],
  [0xc0, 0xaf],
  [0xe0, 0x80, 0x80],
  [0xe6, 0x9d],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x9f, 0x9a],
  [0xf4, 0x90, 0x80, 0x80],
  [0xff],
];

/** One JSON string; the pieces that it draws from are its own, so that some texts are sparse and some dense. */
function seededText(random: Random): Uint8Array {
  const encoder = new TextEncoder();
  const own = Array.from({ length: 1 + random.below(4) }, () => random.pick(PIECES));
  const gap = random.pick([0, 3, 20, 60, 400]);
  const size = random.pick([60, 700, 9000]);
  const bytes = [0x22];
  while (bytes.length < size) {
    for (let i = random.below(gap + 1); i > 0; i--) bytes.push(0x61 + random.below(26));
    const piece = random.pick(own);
    bytes.push(...(typeof piece === "string" ? encoder.encode(piece) : piece));
  }
  return Uint8Array.from([...bytes, 0x22]);
}

test(`${RUNS / 10} seeded texts`, () => {
  const random = new Random(2);
  for (let i = 0; i < RUNS / 10; i++) {
    const bytes = seededText(random);
    compare(bytes, random.cuts(bytes.length, 5), reference(bytes));
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
