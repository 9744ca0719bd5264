/** What each server's answer says, whole and cut at every byte. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { encode, type Metrics, Readers, type Report } from "./metrics.readers.ts";

const NOW_MS = 1_790_000_300_000;
let readers: Readers;

before(async () => {
  readers = await Readers.start();
});

const fixture = (name: string): Uint8Array =>
  readFileSync(new URL(`../fixtures/metrics/${name}`, import.meta.url));

/** The answer, after checking that no cut changes it. */
function atEveryCut(bytes: Uint8Array, nowMs: number | "own" = "own"): Metrics {
  const whole = readers.metrics(bytes, [], nowMs);
  for (let cut = 0; cut <= bytes.length; cut++) {
    assert.deepEqual(readers.metrics(bytes, [cut], nowMs), whole, `cut at ${cut}`);
  }
  const bytewise = Array.from({ length: Math.max(bytes.length - 1, 0) }, (_, i) => i + 1);
  assert.deepEqual(readers.metrics(bytes, bytewise, nowMs), whole, "byte by byte");
  return readers.metrics(bytes, [], nowMs);
}

const near = (actual: Report | undefined, expected: Report): void => {
  assert.deepEqual(Object.keys(actual ?? {}), Object.keys(expected));
  for (const [key, value] of Object.entries(expected)) {
    const got = actual?.[key as keyof Report] ?? Number.NaN;
    assert.ok(Math.abs(got - value) <= 1e-12 * Math.abs(value), `${key}: ${got}, not ${value}`);
  }
};

const OWN: Record<string, Omit<Report, "host">> = {
  "vllm-old-kv.txt": { running: 6, waiting: 2, kvUsage: 0.42 },
  "vllm-new-kv.txt": { running: 6, waiting: 2, kvUsage: 0.42 },
  "vllm-both-kv.txt": { running: 6, waiting: 2, kvUsage: 0.42 },
  "vllm-engines.txt": { running: 12, waiting: 5, kvUsage: 0.4 },
  "odd-labels.txt": { running: 6, waiting: 1, kvUsage: 0.25 },
  "sglang-colon.txt": { running: 11, waiting: 4, kvUsage: 0.63 },
  "sglang-underscore.txt": { running: 11, waiting: 4, kvUsage: 0.63 },
  "llamacpp.txt": { running: 2, waiting: 5, promptTokens: 143 },
  "tgi.txt": { running: 8, waiting: 3 },
  "triton-generic.txt": {},
  "vllm-full.txt": {
    running: 6,
    waiting: 2,
    kvUsage: 0.42,
    prefixHits: 630469280,
    prefixQueries: 10931263819,
    promptTokens: 123456,
    generationTokens: 7890,
    iterationTokens: 131346,
    capacityTokens: 145920,
    startTimeS: 1786910601.1177013,
  },
  "sglang-ranks.txt": {
    running: 11,
    waiting: 4,
    kvUsage: 0.4,
    prefixHits: 320,
    prefixQueries: 1000,
    promptTokens: 1000,
    generationTokens: 50,
    capacityTokens: 313814,
  },
  "triton-trtllm.txt": {
    running: 7,
    waiting: 4,
    kvUsage: 0.125,
    gpuUtilization: 0.5,
    capacityTokens: 399296,
  },
  "trtllm-serve.txt": { running: 3, waiting: 1, kvUsage: 0.62, capacityTokens: 3200 },
};

for (const [name, expected] of Object.entries(OWN)) {
  test(`a backend's own answer: ${name}`, () => {
    const { ok, reports } = atEveryCut(fixture(name));
    assert.equal(ok, Object.keys(expected).length > 0);
    assert.equal(reports.length, 1);
    near(reports[0], { host: 0, ...expected });
  });
}

test("models and adapters: the newest list of adapters counts", () => {
  readers.metrics(fixture("vllm-full.txt"));
  const said = ["qwen3-32b-instruct", "sql", "chat", "poet", "old", "none"].map((name) =>
    readers.model(name),
  );
  assert.deepEqual(said, ["model", "loaded", "loaded", "waiting", "unknown", "unknown"]);
});

test("federate: the newest sample of an address, its age, no others' addresses", () => {
  const { reports } = atEveryCut(fixture("federate.txt"), NOW_MS);
  assert.deepEqual(reports, [
    { host: 0, running: 0, waiting: 0, timestampMs: NOW_MS - 240_000 },
    { host: 1, running: 9, waiting: 1, timestampMs: NOW_MS - 5_000 },
  ]);
});

test("federate: the older pod's series may come first", () => {
  const lines = new TextDecoder().decode(fixture("federate.txt")).split("\n").reverse();
  const { reports } = readers.metrics(encode(lines.join("\n")), [], NOW_MS);
  const found = reports.find(({ host }) => host === 1);
  assert.deepEqual(found, { host: 1, running: 9, waiting: 1, timestampMs: NOW_MS - 5_000 });
});

test("an older pod's other model doesn't add either", () => {
  const text = [
    'vllm:num_requests_running{instance="10.0.0.12:8000",model_name="a"} 9 1790000295000',
    'vllm:num_requests_running{instance="10.0.0.12:8000",model_name="b"} 30 1790000010000',
    'vllm:num_requests_waiting{instance="10.0.0.12:8000",model_name="b"} 4 1790000010000',
  ].join("\n");
  const { reports } = readers.metrics(encode(text), [], NOW_MS);
  assert.deepEqual(reports, [{ host: 1, running: 9, timestampMs: 1790000295000 }]);
  assert.deepEqual(
    ["a", "b"].map((name) => readers.model(name)),
    ["model", "unknown"],
  );
});

test("GPU utilisation, joined by ip where only one backend has it", () => {
  const { reports } = atEveryCut(fixture("federate-gpu.txt"), NOW_MS);
  assert.deepEqual(reports, [
    { host: 0, gpuUtilization: 0.49, timestampMs: 1790000298000 },
    { host: 1, gpuUtilization: 1, timestampMs: 1790000290000 },
  ]);
});

test("OpenMetrics: timestamps in seconds, exemplars", () => {
  const { reports, malformed } = atEveryCut(fixture("openmetrics.txt"), NOW_MS);
  assert.equal(malformed, 0);
  assert.deepEqual(reports, [
    {
      host: 1,
      running: 5,
      promptTokens: 17,
      startTimeS: 1789000000.123,
      timestampMs: 1790000295781,
    },
  ]);
});

test("query answers", () => {
  const { ok, reports } = atEveryCut(fixture("query.json"), NOW_MS);
  assert.ok(ok);
  assert.deepEqual(reports, [
    { host: 1, running: 9, waiting: 1, kvUsage: 0.25, timestampMs: 1790000295781 },
    { host: 0, waiting: 4, timestampMs: 1790000295781 },
  ]);
});

const LINES: [string, Omit<Report, "host">][] = [
  ["vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf", {}],
  ["vllm:num_requests_running -1\nvllm:num_requests_waiting 0", { waiting: 0 }],
  ["vllm:kv_cache_usage_perc 42", { kvUsage: 0.42 }],
  ["vllm:kv_cache_usage_perc 1.2", { kvUsage: 1 }],
  ["vllm:kv_cache_usage_perc 100", { kvUsage: 1 }],
  ["vllm:kv_cache_usage_perc 1e300", { kvUsage: 1 }],
  ['DCGM_FI_DEV_GPU_UTIL{gpu="0"} 1', { gpuUtilization: 0.01 }],
  ["vllm:num_requests_running 1 2 3", {}],
  ["vllm:num_requests_running 1 x", {}],
  ["vllm:num_requests_running 1x", {}],
  ["vllm:num_requests_running", {}],
  ["vllm:num_requests_running{} 1", { running: 1 }],
  ["vllm:num_requests_running{,} 1", {}],
  ['vllm:num_requests_running{a="1",,} 1', {}],
  ['vllm:num_requests_running{a="1" b="2"} 1', {}],
  ["vllm:num_requests_running{a=1} 1", {}],
  ['vllm:num_requests_running{a="1} 1', {}],
  ['vllm:num_requests_running{a="1"}1', { running: 1 }],
  ['  vllm:num_requests_running\t{ a = "1" , }\t1\t', { running: 1 }],
  ['{"vllm:num_requests_running","a b"="1"} 4', { running: 4 }],
  ['{a="1","vllm:num_requests_running"} 4', { running: 4 }],
  ['{a="1"} 4', {}],
  ["\ufeffvllm:num_requests_running 1", { running: 1 }],
  ["xvllm:num_requests_running 5\nvllm:num_requests_runningx 6", {}],
  ["vllm:num_requests_running_total 5\nvllm:num_requests_running_created 6", {}],
  ["# vllm:num_requests_running 5\n#vllm:num_requests_waiting 5", {}],
  ["vllm:num_requests_running 1\r\nvllm:num_requests_waiting 2\r\n", { running: 1, waiting: 2 }],
  ["vllm:prefix_cache_hits 3\nvllm:prefix_cache_hits_total 4", { prefixHits: 4 }],
  ["vllm:gpu_prefix_cache_hits_total 4", { prefixHits: 4 }],
  ['vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1', {}],
  [
    'vllm:cache_config_info{block_size="16",kv_cache_size_tokens="66901",num_gpu_blocks="49"} 1',
    { capacityTokens: 66901 },
  ],
  ["<html><body>vllm:num_requests_running 5</body></html>", {}],
  [
    `vllm:num_requests_running{a="${"x".repeat(20_000)}"} 5\nvllm:num_requests_waiting 1`,
    { waiting: 1 },
  ],
  [`vllm:num_requests_waiting 1\n# ${"x".repeat(20_000)}`, { waiting: 1 }],
];

test("single lines, legal and not", () => {
  for (const [line, expected] of LINES) {
    const bytes = encode(line);
    const whole = readers.metrics(bytes);
    near(whole.reports[0], { host: 0, ...expected });
    const cuts = bytes.length > 4000 ? [1, 30, 16_384, 16_385, 16_500, 19_999] : bytes.keys();
    for (const cut of cuts)
      assert.deepEqual(readers.metrics(bytes, [cut]), whole, `${line} at ${cut}`);
  }
});

test("ORCA load reports", () => {
  const nan = Number.NaN;
  const table: [string, number[] | undefined][] = [
    [
      "TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=2.0",
      [nan, 2, 0.4, nan],
    ],
    ["TEXT cpu_utilization=0.3,named_metrics.kv_cache_usage_perc=0.4", [nan, nan, 0.4, nan]],
    ["named_metrics.num_requests_running=3", [3, nan, nan, nan]],
    [
      'JSON {"named_metrics": {"kv_cache_usage_perc": 42.0, "num_requests_waiting": 1}}',
      [nan, 1, 0.42, nan],
    ],
    ['json{"named_metrics":{"gpu_utilization":0.5},"kv_cache_usage_perc":1}', [nan, nan, nan, 0.5]],
    [
      '{"x":{"num_requests_waiting":9},"named_metrics":{"num_requests_running":1}}',
      [1, nan, nan, nan],
    ],
    ['JSON {"namedMetrics":{"num_requests_waiting":2}}', [nan, 2, nan, nan]],
    ["TEXT cpu_utilization=0.3", undefined],
    ["TEXT named_metrics.num_requests_waiting=-1", undefined],
    ["TEXT named_metrics.num_requests_waiting=, =,,named_metrics.=4", undefined],
    ["BIN CAQSBA==", undefined],
    ['JSON {"named_metrics":', undefined],
    ["TEXT", undefined],
    ["", undefined],
  ];
  for (const [value, expected] of table)
    assert.deepEqual(readers.orca(encode(value)), expected, value);
});

test("Envoy's clusters", () => {
  const bytes = fixture("clusters.json");
  const llm = readers.clusters(bytes);
  const host = (address: string, usable: boolean, requests = 0, degraded = false) => ({
    address,
    usable,
    degraded,
    requests,
  });
  assert.deepEqual(llm, [
    host("127.0.0.1:19912", true, 41),
    host("127.0.0.1:19913", false),
    host("[::1]:19914", false),
    host("127.0.0.1:19914", false),
    host("127.0.0.1:19915", false, 41),
  ]);
  assert.deepEqual(readers.clusters(bytes, [], "degraded"), [
    host("127.0.0.1:19912", true, 0, true),
    host("10.0.0.5:19912", false),
  ]);
  assert.equal(readers.clusters(bytes, [], "absent"), undefined);
  assert.equal(readers.clusters(bytes.slice(0, -3)), undefined);
  for (let cut = 0; cut < bytes.length; cut += 3) {
    assert.deepEqual(readers.clusters(bytes, [cut]), llm, `cut at ${cut}`);
  }
  const turned = JSON.stringify(
    JSON.parse(new TextDecoder().decode(bytes)),
    (_key, value: unknown) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).reverse())
        : value,
  );
  assert.deepEqual(readers.clusters(encode(turned)), llm);
});
