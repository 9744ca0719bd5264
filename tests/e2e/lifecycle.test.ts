import assert from "node:assert/strict";
import test from "node:test";
import { validate } from "../../tools/envoy/process.ts";
import { configuration, gateway, inParallel, post, send, sinks } from "./harness.ts";

const CHAT = { model: "m", messages: [{ role: "user", content: "Which berth?" }] };

test("the shipped bootstrap is valid, and a refused configuration is told", () => {
  const hosts = ["127.0.0.1:8000"];
  const good = validate({ hosts, configuration: configuration(hosts) });
  assert.ok(good.ok, good.output);
  assert.ok(validate({ hosts, configuration: "" }).ok);
  const bad: [object | string, RegExp][] = [
    [{ metrics: { interval_ms: -5 } }, /metrics\.interval_ms: expected .*-5/],
    [{ hosts: ["127.0.0.1:8000", 7] }, /hosts\[1\]/],
    [{ hots: [] }, /hots/],
    ['{"hosts":[],"hosts":[]}', /hosts/],
    ["{", /configuration/i],
  ];
  for (const [text, message] of bad) {
    const { ok, output } = validate({ hosts, configuration: text });
    assert.equal(ok, false, JSON.stringify(text));
    assert.match(output, message);
  }
});

test("Envoy ends cleanly, without a word of the filter's, also under load", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(
    upstreams.map(({ host }) => host),
    {},
    { workers: 2 },
  );
  await inParallel(Array.from({ length: 200 }), 16, async () => {
    const { status } = await post(envoy.port, CHAT);
    assert.equal(status, 200);
  });
  const log = envoy.log();
  await envoy.stop();
  assert.doesNotMatch(log, /wasm.*(error|critical)|abort|trap|Uncaught/i);
  assert.equal(envoy.exitCode, 0);
});

test("every statistic is there from the start, at zero", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(upstreams.map(({ host }) => host));
  const stats = await envoy.stats();
  for (const name of [
    "warmroute_decisions_total",
    "warmroute_queue_length",
    "warmroute_rejected_total",
    "warmroute_scrapes_total",
    "warmroute_scrape_failures_total",
    "warmroute_stale_hosts",
    "warmroute_table_entries",
    "warmroute_table_evictions_total",
    "warmroute_prompt_tokens_total",
    "warmroute_expected_cached_tokens_total",
    "warmroute_reported_cached_tokens_total",
    "warmroute_internal_errors_total",
  ]) {
    assert.equal(stats.sum(name), 0, name);
  }
  for (const reason of ["session", "prefix", "load", "cold", "fallback", "opaque", "bypass"]) {
    assert.equal(stats.sum("warmroute_decisions_total", { reason }), 0, reason);
  }
});

test("decisions and debug headers are in statistics and access log", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(upstreams.map(({ host }) => host));
  for (let i = 0; i < 3; i++) await post(envoy.port, CHAT, { headers: { "x-session-id": "s-1" } });
  await send({ port: envoy.port, path: "/v1/models" });
  const lines = await envoy.accessLog(4);
  const answered = lines.filter(({ path }) => path === "/v1/chat/completions");
  assert.equal(answered.length, 3);
  for (const line of answered) {
    assert.match(String(line.reason), /^(cold|session|prefix|load)$/);
    assert.equal(line.host, line.upstream);
    assert.equal(line.model, "m");
    assert.match(String(line.key), /^[0-9a-f]{16}$/);
    assert.equal(Number(line.prompt_chars), 12);
  }
  const stats = await envoy.stats();
  assert.equal(stats.sum("warmroute_decisions_total"), 3);
});

test("shadow mode decides and tells, and leaves the choice to Envoy", async () => {
  const upstreams = await sinks(3);
  const envoy = await gateway(
    upstreams.map(({ host }) => host),
    { routing: { mode: "shadow" } },
    { fallback: "round_robin" },
  );
  const reached = new Set<string>();
  for (let i = 0; i < 12; i++) {
    const answer = await post(envoy.port, CHAT, { headers: { "x-session-id": "s-1" } });
    assert.equal(answer.status, 200);
    const seen = JSON.parse(answer.body.toString());
    reached.add(seen.host);
    assert.equal(seen.headers["x-gateway-destination-endpoint"], undefined);
    assert.match(String(answer.headers["x-warmroute-choice"]), /^127\.0\.0\.1:\d+/);
  }
  assert.equal(reached.size, 3);
});

test("an Envoy that can't pause headers is told of, and still serves (BC-39)", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(
    upstreams.map(({ host }) => host),
    {},
    {
      edit: (yaml) => yaml.replace("allow_on_headers_stop_iteration: true", ""),
    },
  );
  assert.equal((await post(envoy.port, CHAT)).status, 200);
  // What is held takes a second each time; a busy machine may take that once.
  let longestMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5 && longestMs > 900; attempt++) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(envoy.port, CHAT)));
    for (const { status } of answers) assert.equal(status, 200);
    longestMs = Math.max(...answers.map(({ totalMs }) => totalMs));
  }
  assert.ok(longestMs < 900, `held for ${longestMs} ms`);
  assert.match(envoy.log(), /allow_on_headers_stop_iteration/);
});
