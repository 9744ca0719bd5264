import assert from "node:assert/strict";
import test from "node:test";
import { startParser } from "./parser.ts";

const parser = startParser();

const TOP =
  "hosts, inspect_limit_bytes, debug_headers, access_log_fields, discovery, metrics, routing, affinity, cost, " +
  "health, admission, peers, status";
const AFFINITY = "headers, body_fields, tenant_header, hash_secret, table_bytes";
const METRICS = "source, cluster, path, interval_ms, timeout_ms, stale_after_ms, host_label, names";
const SIGNALS =
  "running, waiting, kv_usage, gpu_utilization, prefix_hits, prefix_queries, prompt_tokens, " +
  "generation_tokens, iteration_tokens, capacity_tokens, block_tokens, cache_blocks, cache_info, " +
  "lora_info, start_time";
const ADDRESS = "ip:port (IPv6 in brackets)";
const PATH = 'a path that starts with "/"';
const ENTRY = 'a path that starts with "/", or with "*" at its start or end, without a query';
const SESSION = "a header's name, none with a new value for every request";
const BODY_FIELD = 'a field\'s name, or up to 3 names joined by "."';

/** Each kind of wrong configuration, with the whole message. */
const WRONG: [configuration: string, error: string][] = [
  // Not JSON, or not an object.
  ["{", "configuration: expected JSON, got its end at byte 1"],
  ['{"hosts": [}', "configuration: expected JSON, got a syntax error at byte 11"],
  ['{"hosts": [],}', "configuration: expected JSON, got a syntax error at byte 13"],
  ["{'hosts': []}", "configuration: expected JSON, got a syntax error at byte 1"],
  ["hosts: []", "configuration: expected JSON, got a syntax error at byte 0"],
  ["{} {}", "configuration: expected JSON, got a syntax error at byte 3"],
  ['{"cost": {"tie_ms": 015}}', "configuration: expected JSON, got a syntax error at byte 21"],
  [
    '{"metrics": {"interval_ms": NaN}}',
    "configuration: expected JSON, got a syntax error at byte 28",
  ],
  ["[]", "configuration: expected an object, got a list"],
  ["null", "configuration: expected an object, got null"],
  ['"{}"', 'configuration: expected an object, got "{}"'],
  ["7", "configuration: expected an object, got 7"],
  // Bounds of the document.
  [`{}${" ".repeat(262144)}`, "configuration: expected at most 262144 bytes, got 262146"],
  [
    `{"x": ${"[".repeat(16)}${"]".repeat(16)}}`,
    "configuration: expected at most 16 levels, got more",
  ],
  [
    `{"hosts": [${Array(8192).fill(1).join()}]}`,
    "configuration: expected at most 8192 values, got more",
  ],
  // Fields that don't exist.
  ['{"foo": 1}', `foo: unknown field, expected one of ${TOP}`],
  ['{"": 1}', `"": unknown field, expected one of ${TOP}`],
  ['{"Hosts": []}', `Hosts: unknown field, expected one of ${TOP}; did you mean hosts?`],
  ['{"host": []}', `host: unknown field, expected one of ${TOP}; did you mean hosts?`],
  ['{"metric": {}}', `metric: unknown field, expected one of ${TOP}; did you mean metrics?`],
  [
    '{"fallbacks": 1}',
    `fallbacks: unknown field, expected one of ${TOP}; did you mean routing.fallbacks?`,
  ],
  [
    '{"metrics.host_label": "x"}',
    `"metrics.host_label": unknown field, expected one of ${TOP}; did you mean metrics.host_label?`,
  ],
  [
    '{"timeoutMs": 1}',
    `timeoutMs: unknown field, expected one of ${TOP}; ` +
      "did you mean discovery.timeout_ms or metrics.timeout_ms or peers.timeout_ms?",
  ],
  ['{"affinity": {"foo": 1}}', `affinity.foo: unknown field, expected one of ${AFFINITY}`],
  [
    '{"affinity": {"table_byte": 1}}',
    `affinity.table_byte: unknown field, expected one of ${AFFINITY}; did you mean table_bytes?`,
  ],
  [
    '{"metrics": {"intervalMs": 1}}',
    `metrics.intervalMs: unknown field, expected one of ${METRICS}; did you mean interval_ms?`,
  ],
  [
    '{"metrics": {"names": {"runing": []}}}',
    `metrics.names.runing: unknown field, expected one of ${SIGNALS}; did you mean running?`,
  ],
  [
    '{"metrics": {"names": {"a\\n\\"b": []}}}',
    `metrics.names."a\\u000a\\"b": unknown field, expected one of ${SIGNALS}`,
  ],
  // Fields that come twice.
  ['{"hosts": [], "hosts": []}', "hosts: duplicate field, expected it once"],
  ['{"hosts": [], "h\\u006fsts": []}', "hosts: duplicate field, expected it once"],
  ['{"metrics": {"path": "/a", "path": "/a"}}', "metrics.path: duplicate field, expected it once"],
  [
    '{"metrics": {"names": {"running": [], "running": []}}}',
    "metrics.names.running: duplicate field, expected it once",
  ],
  ['{"metrics": {}, "status": {}, "metrics": {}}', "metrics: duplicate field, expected it once"],
  ['{"hosts": [1, {"a": 1, "a": 2}]}', "hosts[1].a: duplicate field, expected it once"],
  // Wrong types.
  ['{"hosts": "10.0.0.1:8000"}', 'hosts: expected a list, got "10.0.0.1:8000"'],
  ['{"debug_headers": "true"}', 'debug_headers: expected true or false, got "true"'],
  ['{"debug_headers": 1}', "debug_headers: expected true or false, got 1"],
  ['{"cost": {"learn": null}}', "cost.learn: expected true or false, got null"],
  ['{"metrics": []}', "metrics: expected an object, got a list"],
  ['{"metrics": null}', "metrics: expected an object, got null"],
  ['{"metrics": {"names": []}}', "metrics.names: expected an object, got a list"],
  ['{"metrics": {"names": {"running": "a"}}}', 'metrics.names.running: expected a list, got "a"'],
  ['{"metrics": {"cluster": 7}}', "metrics.cluster: expected a cluster's name, got 7"],
  ['{"routing": {"fallbacks": "2"}}', 'routing.fallbacks: expected an integer 0..16, got "2"'],
  ['{"routing": {"fallbacks": 1.5}}', "routing.fallbacks: expected an integer 0..16, got 1.5"],
  ['{"routing": {"fallbacks": []}}', "routing.fallbacks: expected an integer 0..16, got a list"],
  ['{"cost": {"tie_ms": "15"}}', 'cost.tie_ms: expected a number 0..10000, got "15"'],
  ['{"cost": {"tie_ms": {}}}', "cost.tie_ms: expected a number 0..10000, got an object"],
  [
    '{"admission": {"heavy_prompt_tokens": false}}',
    "admission.heavy_prompt_tokens: expected an integer 1..100000000 or null, got false",
  ],
  // Out of range.
  ['{"metrics": {"interval_ms": -5}}', "metrics.interval_ms: expected 10..3600000, got -5"],
  ['{"metrics": {"interval_ms": 1e99}}', "metrics.interval_ms: expected 10..3600000, got 1e99"],
  ['{"routing": {"fallbacks": 17}}', "routing.fallbacks: expected 0..16, got 17"],
  ['{"inspect_limit_bytes": 4095}', "inspect_limit_bytes: expected 4096..67108864, got 4095"],
  [
    '{"cost": {"prefill_ms_per_token": 0}}',
    "cost.prefill_ms_per_token: expected 0.0001..1000, got 0",
  ],
  ['{"admission": {"max_kv_usage": 98}}', "admission.max_kv_usage: expected 0.01..1, got 98"],
  [
    '{"admission": {"heavy_prompt_tokens": 0}}',
    "admission.heavy_prompt_tokens: expected 1..100000000 or null, got 0",
  ],
  [
    '{"admission": {"queue_bytes": 1099511627777}}',
    "admission.queue_bytes: expected 0..1099511627776, got 1099511627777",
  ],
  // Words.
  [
    '{"metrics": {"source": "prometheus"}}',
    'metrics.source: expected "none", "hosts" or "endpoint", got "prometheus"',
  ],
  ['{"discovery": {"source": ""}}', 'discovery.source: expected "none" or "envoy_admin", got ""'],
  ['{"routing": {"mode": "Shadow"}}', 'routing.mode: expected "enforce" or "shadow", got "Shadow"'],
  ['{"routing": {"mode": true}}', 'routing.mode: expected "enforce" or "shadow", got true'],
  // Addresses.
  ['{"hosts": ["10.0.0.1:8000", "[::1]:80", "foo"]}', `hosts[2]: expected ${ADDRESS}, got "foo"`],
  ['{"hosts": ["llm-0:8000"]}', `hosts[0]: expected ${ADDRESS}, got "llm-0:8000"`],
  ['{"hosts": ["10.0.0.1"]}', `hosts[0]: expected ${ADDRESS}, got "10.0.0.1"`],
  ['{"hosts": ["http://10.0.0.1:80"]}', `hosts[0]: expected ${ADDRESS}, got "http://10.0.0.1:80"`],
  ['{"hosts": ["::1:8000"]}', `hosts[0]: expected ${ADDRESS}, got "::1:8000"`],
  ['{"hosts": [8000]}', `hosts[0]: expected ${ADDRESS}, got 8000`],
  ['{"hosts": [["10.0.0.1:8000"]]}', `hosts[0]: expected ${ADDRESS}, got a list`],
  [
    '{"hosts": ["[2001:db8::1]:80", "[2001:DB8:0::1]:80"]}',
    'hosts[1]: expected each entry once, got "[2001:DB8:0::1]:80"',
  ],
  [
    `{"hosts": [${Array.from({ length: 513 }, (_, i) => `"10.0.${i >> 8}.${i & 255}:1"`).join()}]}`,
    "hosts: expected at most 512 entries, got 513",
  ],
  [
    '{"peers": {"cluster": "g", "hosts": ["g:1"]}}',
    `peers.hosts[0]: expected ${ADDRESS}, got "g:1"`,
  ],
  // Texts.
  ['{"metrics": {"cluster": ""}}', 'metrics.cluster: expected a cluster\'s name, got ""'],
  ['{"metrics": {"path": "metrics"}}', `metrics.path: expected ${PATH}, got "metrics"`],
  [
    '{"metrics": {"path": "/m HTTP/1.1\\r\\nx: y"}}',
    `metrics.path: expected ${PATH}, got "/m HTTP/1.1\\u000d\\u000ax: y"`,
  ],
  ['{"status": {"path": "page"}}', `status.path: expected ${PATH} or "", got "page"`],
  ['{"routing": {"header": "a b"}}', 'routing.header: expected a header\'s name, got "a b"'],
  // What is to be kept secret isn't repeated.
  [
    '{"affinity": {"hash_secret": "too short"}}',
    'affinity.hash_secret: expected a text of at least 16 bytes or "", got 9 bytes',
  ],
  [
    `{"affinity": {"hash_secret": "${"x".repeat(257)}"}}`,
    "affinity.hash_secret: expected at most 256 bytes, got 257 bytes",
  ],
  [
    '{"affinity": {"tenant_header": ":authority"}}',
    'affinity.tenant_header: expected a header\'s name or "", got ":authority"',
  ],
  [
    '{"affinity": {"headers": ["x-user", "X-Request-Id"]}}',
    `affinity.headers[1]: expected ${SESSION}, got "X-Request-Id"`,
  ],
  [
    '{"affinity": {"headers": ["x-user", "X-User"]}}',
    'affinity.headers[1]: expected each entry once, got "X-User"',
  ],
  [
    '{"affinity": {"body_fields": ["a.b.c.d"]}}',
    `affinity.body_fields[0]: expected ${BODY_FIELD}, got "a.b.c.d"`,
  ],
  [
    '{"routing": {"paths": ["/v1/*/chat"]}}',
    `routing.paths[0]: expected ${ENTRY}, got "/v1/*/chat"`,
  ],
  ['{"metrics": {"host_label": "a-b"}}', 'metrics.host_label: expected a label\'s name, got "a-b"'],
  [
    '{"metrics": {"names": {"waiting": ["ok", "up{job=\\"x\\"}"]}}}',
    'metrics.names.waiting[1]: expected a metric\'s name, got "up{job=\\"x\\"}"',
  ],
  [
    `{"metrics": {"cluster": "${"c".repeat(257)}"}}`,
    "metrics.cluster: expected at most 256 bytes, got 257 bytes",
  ],
  [
    `{"metrics": {"source": "${"é".repeat(40)}"}}`,
    `metrics.source: expected "none", "hosts" or "endpoint", got "${"é".repeat(32)}…"`,
  ],
  // Fields that don't go together.
  [
    '{"metrics": {"stale_after_ms": 900}}',
    "metrics.stale_after_ms: expected at least two intervals (1000), got 900",
  ],
  [
    '{"metrics": {"interval_ms": 15000, "stale_after_ms": 200}}',
    "metrics.stale_after_ms: expected at least two intervals (30000), got 200",
  ],
  [
    '{"metrics": {"interval_ms": 15000}}',
    "metrics.stale_after_ms: expected at least two intervals (30000), got 5000 (the default)",
  ],
  [
    '{"peers": {"hosts": ["10.0.0.1:9000"]}}',
    'peers.cluster: expected the gateways\' cluster, as peers.hosts is set, got ""',
  ],
  [
    '{"status": {"path": "/warmroute/peers"}}',
    'status.path: expected another path than that of peers, got "/warmroute/peers"',
  ],
  [
    '{"peers": {"path": "/w.json"}, "status": {"path": "/w"}}',
    'status.path: expected another path than that of peers, got "/w"',
  ],
  // The first of several.
  [
    '{"routing": {"fallbacks": -1}, "metrics": {"interval_ms": 0}}',
    "routing.fallbacks: expected 0..16, got -1",
  ],
];

test("wrong configurations are refused with the field's path and what was expected", () => {
  const said = WRONG.map(([configuration]) => [configuration, parser.check(configuration)]);
  assert.deepEqual(said, WRONG);
  assert.equal(new Set(WRONG.map(([configuration]) => configuration)).size, WRONG.length);
});

test("unusual spellings of right configurations are taken", () => {
  const right: [configuration: string, path: string, value: unknown][] = [
    ["", "routing.fallbacks", 2],
    [" \n\t\r ", "routing.fallbacks", 2],
    ["{}", "routing.fallbacks", 2],
    ["\ufeff \n", "routing.fallbacks", 2],
    ['\ufeff{"routing": {"fallbacks": 3}}', "routing.fallbacks", 3],
    ['{"routing": {"fallbacks": 3.0}}', "routing.fallbacks", 3],
    ['{"routing": {"fallbacks": 0.3e1}}', "routing.fallbacks", 3],
    ['{"routing": {"fallbacks": -0}}', "routing.fallbacks", 0],
    ['{"\\u0072outing": {"mode": "sh\\u0061dow"}}', "routing.mode", "shadow"],
    ['{"admission": {"queue_bytes": 1.099511627776e12}}', "admission.queue_bytes", 1099511627776],
    ['{"admission": {"heavy_prompt_tokens": null}}', "admission.heavy_prompt_tokens", null],
    ['{"admission": {"heavy_prompt_tokens": 20000}}', "admission.heavy_prompt_tokens", 20000],
    ['{"affinity": {"tenant_header": "X-Tenant"}}', "affinity.tenant_header", "x-tenant"],
    ['{"affinity": {"tenant_header": "X-Tenant"}}', "admission.tenant_header", "x-tenant"],
    ['{"affinity": {"headers": []}}', "affinity.headers", []],
    ['{"hosts": ["[2001:DB8:0:0::1]:80"]}', "hosts", ["[2001:db8::1]:80"]],
    ['{"metrics": {"names": {"running": []}}}', "metrics.names", { running: [] }],
    ['{"metrics": {"interval_ms": 2500}}', "metrics.stale_after_ms", 5000],
    ['{"admission": {"priority_header": ""}}', "admission.priority_header", ""],
    ['{"cost": {"tie_ms": 2.5e-1}}', "cost.tie_ms", 0.25],
  ];
  for (const [configuration, path, value] of right) {
    const field = parser.describe(configuration).find((info) => info.path === path);
    assert.deepEqual(field?.value, value, configuration);
  }
});

test("a tenant header of admission's own stays", () => {
  const fields = parser.describe(
    '{"affinity": {"tenant_header": "a"}, "admission": {"tenant_header": "b"}}',
  );
  assert.equal(fields.find(({ path }) => path === "affinity.tenant_header")?.value, "a");
  assert.equal(fields.find(({ path }) => path === "admission.tenant_header")?.value, "b");
});
