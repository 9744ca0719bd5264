/** Generated answers against what well-kept parsers read of them: a Prometheus library, `JSON.parse`. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import parsePrometheus from "parse-prometheus-text-format";
import { encode, Readers } from "./metrics.readers.ts";
import { METRIC_NAMES, type Sample, totals } from "./metrics.reference.ts";
import { Random } from "./random.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 6000);
let readers: Readers;

before(async () => {
  readers = await Readers.start();
});

function near(got: number | undefined, want: number | undefined, what: string): void {
  if (want === undefined || got === undefined) assert.equal(got, want, what);
  else assert.ok(Math.abs(got - want) <= 1e-9 * Math.abs(want), `${what}: ${got}, not ${want}`);
}

const LABEL_VALUES = ["0", "1", "m", "a,b", "a}b", '\\"', "\\\\", "x\\ny", "=", "é東", "#", ""];
const SAMPLE_VALUES = [
  "0",
  "1",
  "6.0",
  "0.25",
  "4.2e-01",
  "1e3",
  "99.9",
  "NaN",
  "+Inf",
  "-Inf",
  "-3",
  "1000001",
];

/** An exposition as a correct exporter writes it. */
function exposition(random: Random): string {
  const lines: string[] = [];
  for (const name of METRIC_NAMES.concat("up", "vllm:other_total")) {
    if (random.below(3) > 0) continue;
    lines.push(`# HELP ${name} Help with \\\\ and \\n.`, `# TYPE ${name} gauge`);
    const sets = Array.from({ length: 1 + random.below(4) }, () =>
      ["engine", "model_name", "pod", "le"]
        .filter(() => random.below(2) === 0)
        .map((label) => `${label}="${random.pick(LABEL_VALUES)}"`)
        .join(","),
    );
    // A correct exporter writes no series twice; an empty label is as none.
    const kept = new Map(sets.map((set) => [set.replace(/\w+="",?/g, "").replace(/,$/, ""), set]));
    for (const set of kept.values()) {
      const labels = set === "" ? "" : `{${set}${random.pick(["", ","])}}`;
      lines.push(
        `${name}${labels} ${random.pick(SAMPLE_VALUES)}${random.pick(["", " 1790000000000"])}`,
      );
    }
  }
  return `${lines.join("\n")}\n`;
}

test("expositions, as a Prometheus library reads them", () => {
  const random = new Random(21);
  let told = 0;
  for (let run = 0; run < RUNS; run++) {
    const text = exposition(random);
    const samples = parsePrometheus(text).flatMap(({ name, metrics }): Sample[] =>
      metrics.map(({ value = "", labels = {} }) => ({
        name,
        labels: new Map(Object.entries(labels).filter(([, label]) => label !== "")),
        value: value === "+Inf" ? Infinity : value === "-Inf" ? -Infinity : Number(value),
      })),
    );
    const want = totals(samples);
    const bytes = encode(text);
    const [got] = readers.metrics(bytes, random.cuts(bytes.length)).reports;
    for (const key of ["running", "waiting", "kvUsage"] as const) {
      near(got?.[key], want[key], `${key} of ${text}`);
      if (want[key] !== undefined) told++;
    }
  }
  assert.ok(told > RUNS, `${told} figures compared`);
});

/** JSON of a value with keys in any order, blanks anywhere, and letters as escapes here and there. */
function spell(value: unknown, random: Random, escapes = true): string {
  const blank = () => (random.below(6) === 0 ? random.pick([" ", "\n", "\t", "\r\n  "]) : "");
  if (typeof value === "string") {
    const plain = JSON.stringify(value);
    if (!escapes || random.below(5) > 0) return plain;
    return plain.replace(/[a-z_]/g, (letter, at: number) =>
      plain[at - 1] === "\\" || random.below(4) > 0
        ? letter
        : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  }
  if (Array.isArray(value)) {
    return `[${blank()}${value.map((item) => spell(item, random, escapes)).join(`${blank()},${blank()}`)}${blank()}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).map((pair) => ({ pair, at: random.next() }));
  const texts = pairs
    .sort((a, b) => a.at - b.at)
    .map(
      ({ pair: [key, inner] }) =>
        `${spell(key, random, escapes)}${blank()}:${blank()}${spell(inner, random, escapes)}`,
    );
  return `{${blank()}${texts.join(`${blank()},${blank()}`)}${blank()}}`;
}

/** Anything, with keys that matter in places where they don't. */
function noise(random: Random, depth: number): unknown {
  const key = () =>
    random.pick(["usage", "prompt_tokens", "id", "cached_tokens", "x", "address", "name"]);
  switch (random.below(depth > 0 ? 7 : 5)) {
    case 0:
      return null;
    case 1:
      return random.below(1000) / random.pick([1, 4]);
    case 2:
      return random.below(2) === 0;
    case 3:
      return random.pick(["", 'say "usage": {"prompt_tokens": 9}', "\\", "東", "a".repeat(300)]);
    case 4:
      return random.pick([0, -1, 1e21, 0.1]);
    case 5:
      return Array.from({ length: random.below(4) }, () => noise(random, depth - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [key(), noise(random, depth - 1)]),
      );
  }
}

const COUNTS = [0, 1, 7, 120, 99_999, 2 ** 31, 2 ** 40];

test("answers and streams with usage, as JSON.parse reads them", () => {
  const random = new Random(22);
  for (let run = 0; run < RUNS; run++) {
    const usage = {
      prompt_tokens: random.pick(COUNTS),
      completion_tokens: random.pick(COUNTS),
      total_tokens: 5,
      prompt_tokens_details: { cached_tokens: random.pick(COUNTS), audio_tokens: 3 },
    };
    const answer = {
      id: random.pick(["chatcmpl-1", "cmpl-東", "r".repeat(60)]),
      object: "chat.completion",
      choices: [
        { message: { role: "assistant", content: noise(random, 3), extra: noise(random, 3) } },
      ],
      system_fingerprint: noise(random, 0),
      usage,
    };
    for (const isEventStream of [false, true]) {
      // Keys of events are looked for as servers write them.
      const text = spell(answer, random, !isEventStream);
      const parsed = JSON.parse(text) as typeof answer;
      // One event is one line.
      const line = text.replace(/[\r\n]+ */g, " ");
      const end = random.pick(["\n\n", "\r\n\r\n"]);
      const body = isEventStream ? `: ping${end}data: ${line}${end}data: [DONE]${end}` : text;
      const bytes = encode(body);
      const got = readers.usage(bytes, random.cuts(bytes.length), isEventStream);
      assert.deepEqual(
        [got.prompt, got.completion, got.cached, got.done, got.id],
        [
          parsed.usage.prompt_tokens,
          parsed.usage.completion_tokens,
          parsed.usage.prompt_tokens_details.cached_tokens,
          true,
          readers.hash(parsed.id),
        ],
        body,
      );
    }
  }
});

test("load reports in both spellings, as JSON.parse and a split read them", () => {
  const random = new Random(23);
  for (let run = 0; run < RUNS; run++) {
    const named: Record<string, number> = { other: 5 };
    if (random.below(2) === 0) named.kv_cache_usage_perc = random.pick([0, 0.25, 1, 80]);
    if (random.below(2) === 0) named.num_requests_waiting = random.pick([0, 3, 1e6, 1e7]);
    if (random.below(2) === 0) named.num_requests_running = random.pick([0, 12]);
    if (random.below(2) === 0) named.gpu_utilization = random.pick([0, 0.5, 97]);
    const isJson = random.below(2) === 0;
    const text = isJson
      ? `JSON ${spell({ cpu_utilization: 0.3, named_metrics: named, x: noise(random, 2) }, random)}`
      : `TEXT cpu_utilization=0.3,${Object.entries(named)
          .map(([key, value]) => `${random.pick(["", " "])}named_metrics.${key}=${value}`)
          .join(",")}`;
    const share = (value = Number.NaN) => Math.min(value > 1.5 ? value / 100 : value, 1);
    const count = (value = Number.NaN) => (value <= 1e6 ? value : Number.NaN);
    const want = [
      count(named.num_requests_running),
      count(named.num_requests_waiting),
      share(named.kv_cache_usage_perc),
      share(named.gpu_utilization),
    ];
    const got = readers.orca(encode(text));
    if (want.every(Number.isNaN)) assert.equal(got, undefined, text);
    else assert.deepEqual(got, want, text);
  }
});

test("cluster lists, as JSON.parse reads them", () => {
  const random = new Random(24);
  for (let run = 0; run < RUNS; run++) {
    const host = () => ({
      address: {
        socket_address: {
          address: `10.0.${random.below(4)}.${random.below(250)}`,
          port_value: 1 + random.below(65535),
        },
      },
      stats: [
        { name: "cx_active", type: "GAUGE", value: "9" },
        { name: "rq_total", value: String(random.below(40)) },
        { name: "rq_pending_active", type: "GAUGE", value: String(random.below(9)) },
      ],
      health_status: {
        eds_health_status: random.pick(["HEALTHY", "UNHEALTHY", "DRAINING", "DEGRADED", "UNKNOWN"]),
        ...(random.below(4) === 0 ? { failed_active_health_check: random.below(2) === 0 } : {}),
        ...(random.below(6) === 0 ? { failed_outlier_check: true } : {}),
      },
      weight: 1,
      extra: noise(random, 2),
    });
    const cluster = (name: string) => ({
      name,
      added_via_api: noise(random, 1),
      host_statuses: Array.from({ length: random.below(5) }, host),
    });
    const all = [cluster("other"), cluster("llm"), cluster("llm2")];
    const text = spell({ cluster_statuses: all, x: noise(random, 2) }, random);
    const parsed = JSON.parse(text) as { cluster_statuses: ReturnType<typeof cluster>[] };
    const want = new Map(
      (parsed.cluster_statuses.find(({ name }) => name === "llm")?.host_statuses ?? []).map(
        ({ address, stats, health_status: health }) => {
          const { address: ip, port_value: port } = address.socket_address;
          const usable =
            !["UNHEALTHY", "DRAINING"].includes(health.eds_health_status) &&
            !health.failed_active_health_check &&
            !health.failed_outlier_check;
          const statistic = (wanted: string) =>
            Number(stats.find(({ name }) => name === wanted)?.value);
          const requests = statistic("rq_total") + statistic("rq_pending_active");
          return [`${ip}:${port}`, `${usable} ${requests}`] as const;
        },
      ),
    );
    const bytes = encode(text);
    const got = readers.clusters(bytes, random.cuts(bytes.length)) ?? [];
    assert.deepEqual(
      new Map(got.map(({ address, usable, requests }) => [address, `${usable} ${requests}`])),
      want,
      text,
    );
  }
});
