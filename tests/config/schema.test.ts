import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { beforeEach } from "node:test";
import { ROOT } from "../../tools/paths.ts";
import { type FieldInfo, KINDS, startParser } from "./parser.ts";
import { isValid, type Schema } from "./schema.ts";

const readJson = (name: string) => JSON.parse(readFileSync(join(ROOT, "envoy", name), "utf8"));
const schema = readJson("filter.schema.json") as Schema;
const full = readJson("filter.json") as Record<string, unknown>;
const parser = startParser();
const fields = parser.describe("");

const kindOf = (field: FieldInfo) => KINDS[field.kind];

/** A configuration with one field. */
const only = (path: string, value: unknown): unknown =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);

/** The value at a path; undefined if there is none. */
const at = (from: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>((value, name) => (value as Record<string, unknown>)?.[name], from);

/** The schema of a field. */
const schemaAt = (path: string): Schema => {
  const found = path
    .split(".")
    .reduce<Schema | undefined>((value, name) => value?.properties?.[name], schema);
  assert.ok(found, `${path} is missing in filter.schema.json`);
  return found;
};

/** Paths of the schema's fields. `metrics.names` is one field. */
const schemaPaths = Object.entries(schema.properties ?? {}).flatMap(([name, section]) =>
  section.properties === undefined
    ? [name]
    : Object.keys(section.properties).map((inner) => `${name}.${inner}`),
);

/** Asks schema and parser; other fields are set so that no rule between fields is in the way. */
function bothSay(path: string, value: unknown): boolean {
  const beside: Record<string, object> = {
    "metrics.interval_ms": { metrics: { interval_ms: value, stale_after_ms: 7200000 } },
    "metrics.stale_after_ms": { metrics: { stale_after_ms: value, interval_ms: 10 } },
    "peers.hosts": { peers: { hosts: value, cluster: "gateways" } },
  };
  const configuration = beside[path] ?? only(path, value);
  const bySchema = isValid(schema, configuration);
  const error = parser.check(JSON.stringify(configuration));
  assert.equal(bySchema, error === "", `${JSON.stringify(configuration).slice(0, 300)}: ${error}`);
  if (!bySchema) refuses(path, error);
  return bySchema;
}

/** Refusals since the test began. */
let refused = 0;
beforeEach(() => {
  refused = 0;
});

/** Each refusal names the field, or the entry in it, and what was expected. */
function refuses(path: string, error: string): void {
  assert.ok(error.startsWith(path), `${path}: ${error}`);
  assert.match(error, /: (unknown field, |duplicate field, )?expected /, path);
  refused++;
}

/** Wrong configurations of one kind. */
const MANY = 40;

test("schema, parser and filter.json have the same fields, defaults and order", () => {
  const paths = fields.map(({ path }) => path);
  assert.deepEqual([...schemaPaths].sort(), [...paths].sort());
  for (const { path, value } of fields) {
    assert.deepEqual(schemaAt(path).default, value, path);
    if (path !== "hosts") assert.deepEqual(at(full, path), value, path);
    assert.ok((schemaAt(path).description ?? "").length > 10, `${path} has no description`);
  }
  for (const section of Object.values(schema.properties ?? {})) assert.ok(section.description);
  const inFile = Object.entries(full).flatMap(([name, value]) =>
    typeof value === "object" && !Array.isArray(value)
      ? Object.keys(value as object).map((inner) => `${name}.${inner}`)
      : [name],
  );
  assert.deepEqual(inFile, schemaPaths);
});

test("filter.json is valid and changes nothing but the hosts", () => {
  assert.ok(isValid(schema, full));
  assert.equal(parser.check(JSON.stringify(full)), "");
  const changed = parser
    .describe(JSON.stringify(full))
    .filter(({ value }, i) => JSON.stringify(value) !== JSON.stringify(fields[i]?.value));
  assert.deepEqual(
    changed.map(({ path }) => path),
    ["hosts"],
  );
});

test("numbers: both ends, one beyond each end, fractions", () => {
  const numeric = fields.filter((field) =>
    ["integer", "learned", "size", "number"].includes(kindOf(field) ?? ""),
  );
  assert.ok(numeric.length > 30);
  for (const field of numeric) {
    const { path, min, max } = field;
    const step = kindOf(field) === "number" ? Math.max(min, 1) * 1e-9 : 1;
    for (const value of [min, max]) assert.equal(bothSay(path, value), true, `${path} ${value}`);
    for (const value of [min - step, max * (1 + 1e-12) + step, -1e300, 1e300]) {
      assert.equal(bothSay(path, value), false, `${path} ${value}`);
    }
    assert.equal(bothSay(path, (min + max) / 2 + 0.25), kindOf(field) === "number", path);
  }
  assert.ok(refused >= MANY, `${refused}`);
});

test("every other type is refused, at every field", () => {
  const allowed: Record<(typeof KINDS)[number], string[]> = {
    flag: ["boolean"],
    integer: ["number"],
    learned: ["number", "null"],
    size: ["number"],
    number: ["number"],
    word: ["string"],
    text: ["string"],
    list: ["array"],
    names: ["object"],
  };
  const samples = { boolean: true, number: 7, null: null, string: "x", array: [], object: {} };
  for (const field of fields) {
    const kind = kindOf(field) ?? "flag";
    for (const [type, value] of Object.entries(samples)) {
      if (allowed[kind].includes(type)) continue;
      assert.equal(bothSay(field.path, value), false, `${field.path} ${type}`);
    }
    assert.equal(bothSay(field.path, field.value), true, field.path);
  }
  for (const [name, section] of Object.entries(schema.properties ?? {})) {
    if (section.properties === undefined) continue;
    for (const value of [true, 7, null, "x", []]) assert.equal(bothSay(name, value), false, name);
  }
  assert.ok(refused >= MANY, `${refused}`);
});

test("words: each choice, and others", () => {
  for (const { path, words } of fields.filter((field) => kindOf(field) === "word")) {
    assert.deepEqual(schemaAt(path).enum, words);
    for (const word of words) assert.equal(bothSay(path, word), true);
    const others = ["", " ", "other", "true", "0", "null", "x".repeat(5000), "ä", words.join()];
    const nearly = words.flatMap((word) => [
      word.toUpperCase(),
      `${word} `,
      ` ${word}`,
      `${word}s`,
    ]);
    for (const word of [...others, ...nearly]) assert.equal(bothSay(path, word), false, word);
  }
  assert.ok(refused >= MANY, `${refused}`);
});

/** Per shape (the order of `Shape` in assembly/config/shapes.ts): what fits and what doesn't. */
const SHAPES: { fits: string[]; wrong: string[] }[] = [
  { fits: [], wrong: [] },
  { fits: ["llm", "outbound|80||llm.ns.svc", "größe 1"], wrong: ["a\nb", "a\u0000"] },
  { fits: ["/", "/a?b=c&d={}"], wrong: ["a", "/a b", "/a#b", "/ä", "/a\r\nx: y"] },
  { fits: ["x-a", "X_A", "a.b~!"], wrong: ["a b", "a:b", ":path", "ä", "a,b"] },
  { fits: ["x-user", "x-request"], wrong: ["x-request-id", "traceparent", "a b", ""] },
  {
    fits: ["a", "a.b.c", "größe", "a b"],
    wrong: ["", ".", "a.", ".a", "a..b", "a.b.c.d", "a\tb"],
  },
  {
    fits: ["/", "*", "/*", "/v1/*", "/v1/chat*", "*/v1/chat", "/%7Euser"],
    wrong: ["", "v1", "v1/*", "**", "*v1", "/a*b", "*/v1/*", "/a?b", "/a b", "/ä", "/a#b"],
  },
  { fits: ["/v1/*", "a/model-8B", "größe 1"], wrong: ["", "a\nb", "a\u0000"] },
  { fits: ["instance", "_x", "A1"], wrong: ["1a", "a-b", "a:b", "ä"] },
  { fits: ["vllm:x", "a_b", "a.b", ":x"], wrong: ["", "1a", "a-b", "a{b}", "ä"] },
  { fits: ["sixteen bytes, \u0000"], wrong: ["x", "fifteen bytes .", "a\nb"] },
  {
    fits: ["1.2.3.4:1", "255.255.255.255:65535", "[::1]:8000", "[FE80::1]:80", "[::1.2.3.4]:9"],
    wrong: ["", "a:1", "1.2.3.4", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.256:1", "01.2.3.4:1"],
  },
];

/** Place of `ip:port` in SHAPES. */
const ADDRESS = SHAPES.length - 1;

test("texts and entries of lists: what fits their shape and what doesn't", () => {
  for (const field of fields.filter(({ shape }) => shape > 0)) {
    const { path, max, min, entryBytes } = field;
    const { fits, wrong } = SHAPES[field.shape] as (typeof SHAPES)[number];
    const isText = kindOf(field) === "text";
    const wrapped = (value: string): unknown =>
      isText ? value : kindOf(field) === "names" ? { running: [value] } : [value];
    for (const value of fits) assert.equal(bothSay(path, wrapped(value)), true, `${path} ${value}`);
    for (const value of wrong) {
      assert.equal(bothSay(path, wrapped(value)), false, `${path} ${JSON.stringify(value)}`);
    }
    if (isText) assert.equal(bothSay(path, ""), min === 0, path);
    const first = fits[0] as string;
    const most = isText ? max : entryBytes;
    if (field.shape !== ADDRESS) {
      const long = first.padEnd(most, "a");
      assert.equal(bothSay(path, wrapped(long)), true, `${path} of ${most} bytes`);
      assert.equal(bothSay(path, wrapped(`${long}a`)), false, `${path} of ${most + 1} bytes`);
    }
    if (isText) continue;
    const entry = (i: number) =>
      field.shape === ADDRESS ? `10.0.${i >> 8}.${i & 255}:1` : `${first}${i}`;
    const entries = Array.from({ length: max + 1 }, (_, i) => entry(i));
    const asField = (list: string[]) => (kindOf(field) === "names" ? { waiting: list } : list);
    assert.equal(bothSay(path, asField(entries.slice(1))), true, `${path} of ${max} entries`);
    assert.equal(bothSay(path, asField(entries)), false, `${path} of ${max + 1} entries`);
    assert.equal(bothSay(path, asField([first, first])), false, `${path} with one entry twice`);
  }
  assert.ok(refused >= MANY, `${refused}`);
});

test("unknown names are refused, at every level", () => {
  for (const path of ["foo", "metrics.foo", "cost.foo", "metrics.names.foo", "status.foo"]) {
    assert.equal(bothSay(path, []), false);
  }
  for (const { path, value } of fields) assert.equal(bothSay(`${path}s`, value), false, path);
  assert.ok(refused >= MANY, `${refused}`);
  for (const signal of fields.flatMap(({ signals }) => signals)) {
    assert.equal(bothSay(`metrics.names.${signal}`, ["a"]), true);
    assert.ok(schemaAt(`metrics.names.${signal}`).description);
  }
});

test("a field that comes twice is refused, whichever it is", () => {
  for (const { path, value } of fields) {
    const name = JSON.stringify(path.split(".").at(-1));
    const once = `${name}: ${JSON.stringify(value)}`;
    const twice = `{${once}, ${once}}`;
    const [section, inner] = path.split(".");
    refuses(path, parser.check(inner === undefined ? twice : `{"${section}": ${twice}}`));
  }
  assert.ok(refused >= MANY, `${refused}`);
});
