/** Generated and damaged answers: against a second reader, at random cuts, never a trap. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { before, test } from "node:test";
import { keeping } from "./inputs.ts";
import { encode, type Metrics, Readers } from "./metrics.readers.ts";
import { METRIC_NAMES, reference, type Totals } from "./metrics.reference.ts";
import { mutateBytes } from "./mutate.ts";
import { Random } from "./random.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 10_000);
const NOW_MS = 1_790_000_300_000;
const folder = new URL("../fixtures/metrics/", import.meta.url);
const fixtures = readdirSync(folder)
  .sort()
  .map((name) => new Uint8Array(readFileSync(new URL(name, folder))));
let readers: Readers;

before(async () => {
  readers = await Readers.start();
});

function agree({ reports }: Metrics, expected: Totals, text: Uint8Array): void {
  const shown = JSON.stringify(Buffer.from(text).toString("latin1"));
  for (const key of ["running", "waiting", "kvUsage"] as const) {
    const want = expected[key];
    const got = reports[0]?.[key];
    const same =
      want === undefined || got === undefined
        ? want === got
        : Math.abs(got - want) <= 1e-12 * Math.abs(want);
    assert.ok(same, `${key}: ${got}, not ${want}, of ${shown}`);
  }
}

const BLANKS = ["", "", "", " ", "\t", "  "];
const VALUES = [
  "0",
  "1",
  "6.0",
  "+0.25",
  "4.2e-01",
  "1e3",
  "1E+2",
  ".5",
  "5.",
  "NaN",
  "+Inf",
  "-Inf",
  "inf",
  "-3",
  "0.30000000000000004",
  "12345678901234567890",
  "1e400",
  "1e-400",
  "0x10",
  "1_0",
  "",
  "-",
  "1e",
  "x",
  "42",
  "99.9",
  "000012",
  "0.000000000000000000123",
];
const STRINGS = [
  "0",
  "1",
  "m1",
  "org/m,1{beta}",
  '\\"q\\"',
  "\\\\",
  "a\\nb",
  "x}y",
  "é東",
  "",
  "\\x",
  "#",
];
const LABELS = ["engine", "dp_rank", "model_name", "tp_rank", "pod", "le"];

function line(random: Random): string {
  const blank = () => random.pick(BLANKS);
  if (random.below(12) === 0)
    return random.pick(["", "# HELP a b", "#", "garbage", "<html>", "\r"]);
  const labels = Array.from(
    { length: random.below(4) },
    () =>
      `${blank()}${random.pick(LABELS)}${blank()}=${blank()}"${random.pick(STRINGS)}"${blank()}`,
  );
  let name =
    random.below(10) === 0 ? random.pick(["vllm:num_requests", "up"]) : random.pick(METRIC_NAMES);
  if (random.below(20) === 0) {
    labels.unshift(`"${name}"`);
    name = "";
  }
  const comma = labels.length > 0 && random.below(4) === 0 ? "," : "";
  const set = labels.length > 0 || random.below(4) === 0 ? `{${labels.join(",")}${comma}}` : "";
  const time =
    random.below(4) === 0
      ? ` ${random.pick(["1790000000000", "1790000000.5", "-1", "x", "NaN"])}`
      : "";
  const tail = random.below(8) === 0 ? random.pick([' # {a="}"} 1 2', " #", " 7", "#"]) : "";
  return `${blank()}${name}${blank()}${set} ${blank()}${random.pick(VALUES)}${time}${tail}${random.pick(BLANKS)}`;
}

test("generated expositions, against the second reader", () => {
  const random = new Random(11);
  for (let run = 0; run < RUNS; run++) {
    const lines = Array.from({ length: 1 + random.below(12) }, () => line(random));
    const bytes = encode(lines.join(random.below(4) === 0 ? "\r\n" : "\n"));
    agree(readers.metrics(bytes, random.cuts(bytes.length)), reference(bytes), bytes);
  }
});

test("damaged answers of every format: the second reader's totals, and no cut matters", () => {
  const random = new Random(12);
  const texts = fixtures.filter((bytes) => bytes[0] !== 0x7b);
  for (let run = 0; run < RUNS; run++) {
    const bytes = mutateBytes(random.pick(fixtures), random);
    const cuts = random.cuts(bytes.length);
    keeping(bytes, () => {
      const whole = readers.metrics(bytes, [], NOW_MS);
      assert.deepEqual(readers.metrics(bytes, cuts, NOW_MS), whole);
    });
  }
  const small = texts.filter((bytes) =>
    /^(?:#.*\n)?(?:vllm|sglang|tgi)/.test(Buffer.from(bytes).toString()),
  );
  const plain = small.filter((bytes) => bytes.length < 1000);
  for (let run = 0; run < RUNS; run++) {
    const bytes = mutateBytes(random.pick(plain), random);
    const cuts = random.cuts(bytes.length);
    keeping(bytes, () => agree(readers.metrics(bytes, cuts), reference(bytes), bytes));
  }
});

test("random bytes", () => {
  const random = new Random(13);
  for (let run = 0; run < RUNS; run++) {
    const bytes = Uint8Array.from({ length: random.below(200) }, () =>
      random.below(3) === 0
        ? random.below(256)
        : (random.pick([10, 13, 32, 34, 44, 61, 92, 123, 125, 58]) ?? 0),
    );
    const cuts = random.cuts(bytes.length);
    assert.deepEqual(readers.metrics(bytes, cuts, NOW_MS), readers.metrics(bytes, [], NOW_MS));
    for (const isEventStream of [true, false]) {
      const whole = readers.usage(bytes, [], isEventStream);
      assert.deepEqual(readers.usage(bytes, cuts, isEventStream), whole);
    }
    readers.orca(bytes);
    readers.clusters(bytes, cuts);
  }
});

const EVENTS = [
  'data: {"id":"c-1","choices":[{"delta":{"content":"a \\"usage\\": {"}}],"usage":null}\n\n',
  'data: {"id":"c-1","usage":{"prompt_tokens":120,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":96}}}\n\n',
  'event: message_start\r\ndata: {"message":{"id":"m","usage":{"input_tokens":2,"cache_read_input_tokens":3}}}\r\n\r\n',
  'data: {"text":"ab","meta_info":{"prompt_tokens":11,"completion_tokens":2,"cached_tokens":8}}\n\n',
  'data:{"token":{"text":"b"},"details":{"generated_tokens":2,"prefill":[{"id":1}]}}\n\n',
  'data: {"content":"","stop":true,"tokens_evaluated":30,"tokens_predicted":2,"timings":{"prompt_n":10}}\n\n',
  "data: [DONE]\n\n",
  ": ping\n\n",
].map(encode);

test("damaged streams and answers: no cut matters", () => {
  const random = new Random(14);
  for (let run = 0; run < RUNS; run++) {
    const parts = Array.from({ length: 1 + random.below(5) }, () =>
      Buffer.from(random.pick(EVENTS)),
    );
    const bytes = mutateBytes(new Uint8Array(Buffer.concat(parts)), random);
    for (const isEventStream of [true, false]) {
      const body = isEventStream ? bytes : bytes.slice(6);
      const cuts = random.cuts(body.length);
      keeping(body, () => {
        const whole = readers.usage(body, [], isEventStream);
        assert.deepEqual(readers.usage(body, cuts, isEventStream), whole);
      });
    }
  }
});

test("damaged cluster lists: no cut matters", () => {
  const random = new Random(15);
  const bytes = new Uint8Array(readFileSync(new URL("clusters.json", folder)));
  const short = encode(JSON.stringify(JSON.parse(new TextDecoder().decode(bytes))));
  for (let run = 0; run < RUNS / 4; run++) {
    const damaged = mutateBytes(short, random);
    const cuts = random.cuts(damaged.length);
    keeping(damaged, () => {
      const whole = readers.clusters(damaged);
      assert.deepEqual(readers.clusters(damaged, cuts), whole);
    });
  }
});

test("numbers, as JavaScript reads them", () => {
  const random = new Random(16);
  for (let run = 0; run < RUNS; run++) {
    const digits = (n: number) =>
      Array.from({ length: random.below(n) }, () => random.below(10)).join("");
    const exponent =
      random.below(3) === 0 ? `e${random.pick(["", "+", "-"])}${random.below(330)}` : "";
    const text = `${random.pick(["", "+", "-"])}${digits(24)}${random.pick(["", ".", `.${digits(24)}`])}${exponent}`;
    const legal =
      /\d\.?\d*(?:e[+-]?\d+)?$|\.\d+(?:e[+-]?\d+)?$/.test(text) &&
      /\d/.test(text.split("e")[0] ?? "");
    const got = readers.number(text);
    if (!legal) {
      assert.equal(got, undefined, text);
      continue;
    }
    const want = Number(text);
    const near = Math.abs((got ?? Number.NaN) - want) <= 4e-15 * Math.abs(want) || got === want;
    const tiny = Math.abs(want) < 1e-300;
    assert.ok(near || (tiny && Math.abs(got ?? 1) < 1e-299), `${text}: ${got}`);
  }
});
