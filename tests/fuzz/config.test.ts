/** The configuration's parser against `JSON.parse` and the schema, for damaged configurations. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type FieldInfo, startParser } from "../config/parser.ts";
import { isValid, type Schema } from "../config/schema.ts";
import { countInput, keeping, watchMemory } from "./inputs.ts";
import { mutateBytes } from "./mutate.ts";
import { Random } from "./random.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 20_000);
const read = (name: string) => readFileSync(new URL(`../../envoy/${name}`, import.meta.url));
const schema = JSON.parse(read("filter.schema.json").toString()) as Schema;
const full = JSON.parse(read("filter.json").toString()) as Record<string, unknown>;
const parser = startParser();
watchMemory("configuration", () => parser.memoryBytes);

/** One line, `path: what`, and no control bytes. */
const MESSAGE =
  /^[^\p{Cc}]+: (expected |unknown field, expected one of |duplicate field, expected it once$)[^\p{Cc}]*$/u;

function parsed(bytes: Uint8Array): { json: boolean; value: unknown } {
  const text = new TextDecoder().decode(bytes);
  if (/^[ \t\r\n]*$/.test(text)) return { json: true, value: {} };
  try {
    return { json: true, value: JSON.parse(text) };
  } catch {
    return { json: false, value: undefined };
  }
}

/** Values as a configuration again. */
function configurationOf(fields: FieldInfo[]): Record<string, unknown> {
  const configuration: Record<string, unknown> = {};
  for (const { path, value } of fields) {
    const [first = "", second] = path.split(".");
    if (second === undefined) configuration[first] = value;
    else configuration[first] = { ...(configuration[first] as object), [second]: value };
  }
  return configuration;
}

/** What must hold for any bytes; true if they are a configuration. */
function examine(bytes: Uint8Array): boolean {
  return keeping(bytes, () => examineNow(bytes));
}

function examineNow(bytes: Uint8Array): boolean {
  countInput();
  const where = JSON.stringify(new TextDecoder().decode(bytes));
  const error = parser.check(bytes);
  const { json, value } = parsed(bytes);
  if (error !== "") {
    assert.match(error, MESSAGE, where);
    const limit = /^configuration: expected at most /.test(error);
    const syntax = /^configuration: expected JSON, got /.test(error);
    if (!limit) assert.equal(syntax, !json, `${error} for ${where}`);
    return false;
  }
  assert.ok(json, where);
  assert.ok(isValid(schema, value), `the schema refuses ${where}`);
  return true;
}

test(`${RUNS} seeded mutations of bytes`, () => {
  const random = new Random(11);
  const seeds = [
    new Uint8Array(read("filter.json")),
    new TextEncoder().encode(JSON.stringify(full)),
    new TextEncoder().encode('{"metrics":{"names":{"running":["a","b"],"waiting":[]}}}'),
    new TextEncoder().encode('{"hosts":["[2001:db8::1]:80","10.0.0.1:8000"],"status":{}}'),
  ];
  let taken = 0;
  for (const seed of seeds) assert.ok(examine(seed));
  for (let i = 0; i < RUNS; i++) taken += examine(mutateBytes(random.pick(seeds), random)) ? 1 : 0;
  if (RUNS >= 1000) assert.ok(taken > RUNS / 50 && taken < RUNS / 2, `${taken} taken`);
  // A parse needs some 100 KiB; what earlier parses left is free again.
  assert.ok(parser.memoryBytes <= 1 << 20, `memory grew to ${parser.memoryBytes} bytes`);
});

/** Values near the edges of what fields take. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  "",
  "none",
  "hosts",
  "shadow",
  "/x",
  "x-y",
  "a.b",
  "*",
  "1.2.3.4:5",
  [],
  {},
  ["/a", "*/b"],
  ["x"],
  ["1.2.3.4:5"],
  ["1.2.3.4:5", "1.2.3.4:6"],
  ["a.b.c"],
  ["a.b.c.d"],
  [1],
  [[]],
  { running: ["a"] },
  { running: [] },
  { other: [] },
  { interval_ms: 20 },
  { path: "/p" },
  -1,
  0,
  0.5,
  1,
  1.5,
  2,
  15,
  16,
  17,
  64,
  100,
  1000,
  4096,
  65536,
  1e6,
  1e8,
  1e9,
  2 ** 31,
  1e12,
  1e300,
];

test(`${RUNS} configurations of random values: taken if the schema takes them, and kept`, () => {
  const random = new Random(12);
  const paths = parser.describe("").map(({ path }) => path);
  let taken = 0;
  for (let i = 0; i < RUNS; i++) {
    const configuration: Record<string, unknown> = {};
    const changes = 1 + random.below(3);
    for (let j = 0; j < changes; j++) {
      const [first = "", second] = random.pick(paths).split(".");
      const value = random.pick(VALUES);
      if (second === undefined || random.below(20) === 0) configuration[first] = value;
      else if (typeof (configuration[first] ?? {}) === "object") {
        configuration[first] = { ...(configuration[first] as object | null), [second]: value };
      }
    }
    const text = JSON.stringify(configuration);
    countInput();
    const error = parser.check(text);
    const together =
      /stale_after_ms: expected at least|^peers.cluster: .* as |^status.path: .* than/;
    if (!isValid(schema, configuration)) assert.notEqual(error, "", text);
    else if (!together.test(error)) assert.equal(error, "", text);
    if (error !== "") {
      assert.match(error, MESSAGE, text);
      continue;
    }
    taken++;
    const fields = parser.describe(text);
    assert.deepEqual(parser.describe(JSON.stringify(configurationOf(fields))), fields, text);
  }
  if (RUNS >= 1000) assert.ok(taken > RUNS / 50, `${taken} taken`);
});
