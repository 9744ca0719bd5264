import assert from "node:assert/strict";
import { test } from "node:test";
import type { Root } from "../host/vm.ts";
import { chat, Gateway, hostNames } from "./gateway.ts";

const ROUTING = "x-gateway-destination-endpoint";

test("what isn't inference is never paused and carries no routing header of the client's", () => {
  const gateway = new Gateway(hostNames(2));
  for (const [method, path, body] of [
    ["GET", "/v1/models", ""],
    ["HEAD", "/v1/chat/completions", ""],
    ["DELETE", "/v1/responses/1", ""],
    ["POST", "/files/upload", "x".repeat(100_000)],
    ["POST", "/v1/chat/completions", ""],
  ] as const) {
    const exchange = gateway.send(Buffer.from(body), {
      method,
      path,
      headers: { [ROUTING]: "10.9.9.9:1" },
    });
    assert.equal(exchange.stream.headers.get(ROUTING), undefined, path);
    assert.equal(exchange.stream.request.sentBytes, body.length, path);
    exchange.answer();
    assert.equal(exchange.debug("reason"), "bypass");
  }
});

test("a client's routing header is removed on opaque and malformed requests too, counted, and told once", () => {
  const gateway = new Gateway([]);
  gateway.send("{broken");
  const removed = () => gateway.host.metrics.counter("warmroute.headers_removed_total");
  assert.equal(removed(), 0);
  for (const headers of [
    { [ROUTING]: "10.9.9.9:1", "content-encoding": "gzip" },
    { [ROUTING]: "10.9.9.9:1" },
  ]) {
    const exchange = gateway.send("{broken", { headers });
    assert.equal(exchange.stream.headers.get(ROUTING), undefined);
  }
  assert.equal(removed(), 2);
  const told = gateway.host.logs.filter(({ message }) => message.includes("routing.header"));
  assert.equal(told.length, 1);
  assert.match(
    told[0]?.message ?? "",
    /request_headers_to_remove: \[x-gateway-destination-endpoint\]/,
  );
});

test("in flight: counted once each way, whatever the end (BC-24)", () => {
  const host = "10.0.0.1:8000";
  const gateway = new Gateway([host]);
  const at = () => {
    gateway.host.advance(100);
    return gateway.inFlight(host);
  };
  const [r1, r2, r3] = ["r1", "r2", "r3"].map((name) => gateway.send(chat(name)));
  assert.equal(at(), 3);
  r1?.stream.clientReset();
  assert.equal(at(), 2);
  r2?.stream.upstreamReset();
  r3?.answer({ status: 503 });
  r3?.stream.done();
  assert.equal(at(), 0);
  for (let i = 0; i < 5; i++)
    gateway
      .send(chat(`s${i}`))
      .begin()
      .end();
  assert.equal(at(), 0);
});

test("a worker that dies takes its load with it", () => {
  const host = "10.0.0.1:8000";
  const gateway = new Gateway([host], { workers: 2 });
  for (let i = 0; i < 5; i++) gateway.send(chat(`x${i}`), { worker: 1 });
  gateway.host.advance(200);
  assert.equal(gateway.inFlight(host), 5);
  gateway.roots[1]?.setTickPeriod(0);
  gateway.host.advance(6000);
  assert.equal(gateway.inFlight(host), 0);
});

test("locations are counted once, whatever listeners come and go; those of a VM that ends are counted no more", () => {
  const gateway = new Gateway(hostNames(3), { workers: 2 });
  const entries = () => {
    gateway.host.advance(200);
    return gateway.stat("table_entries");
  };
  for (let i = 0; i < 10; i++) gateway.send(chat(`old ${i}`), { worker: 0 }).answer();
  const ofFirst = entries();
  assert.ok(ofFirst >= 10, `${ofFirst}`);
  for (let i = 0; i < 10; i++) gateway.send(chat(`young ${i}`), { worker: 1 }).answer();
  const ofBoth = entries();
  assert.ok(ofBoth > ofFirst);
  // A listener's update: a second root of the VM, and the first ends when it has drained.
  const [old, other] = gateway.roots as [Root, Root];
  const config = JSON.stringify({ hosts: hostNames(3), metrics: { source: "none" } });
  const young = old.vm.createRoot({ rootId: "warmroute", config });
  assert.equal(entries(), ofBoth);
  old.end();
  assert.equal(entries(), ofBoth);
  // A new file: the VM ends with its last root.
  young.end();
  assert.equal(entries(), ofBoth - ofFirst);
  other.end();
  assert.equal(gateway.stat("table_entries"), 0);
});

test("without a usable host Envoy decides", () => {
  const gateway = new Gateway([]);
  const exchange = gateway.send(chat("hi"));
  assert.deepEqual(exchange.choice, []);
  exchange.answer({ host: "10.0.0.7:8000" });
  // From its answer the host is known.
  assert.equal(gateway.send(chat("hi")).target, "10.0.0.7:8000");
});

test("an Envoy that can't pause headers: the first request is released, then headers alone route (BC-39)", () => {
  const gateway = new Gateway(hostNames(3), { allowOnHeadersStopIteration: false });
  const stuck = gateway.send(chat("hello"), { headers: { "x-session-id": "s" } });
  assert.equal(stuck.stream.request.sentHeaders, undefined);
  gateway.host.advance(1200);
  assert.notEqual(stuck.stream.request.sentHeaders, undefined);
  assert.equal(stuck.choice.length, 3);
  const log = gateway.host.logs.map((line) => line.message).join("\n");
  assert.match(log, /allow_on_headers_stop_iteration/);
  stuck.answer();
  const next = gateway.send(chat("hello again"), { headers: { "x-session-id": "s" } });
  assert.equal(next.target, stuck.target);
  assert.equal(gateway.stat("headers_not_held_total"), 2);
});

test("the time to the first token of a streamed answer is counted, and the prompt it was for", () => {
  const gateway = new Gateway(hostNames(1));
  const exchange = gateway.send(chat("x".repeat(4000)));
  exchange.stream.upstreamAddress = exchange.target;
  exchange.stream.responseHeaders([
    [":status", "200"],
    ["content-type", "text/event-stream"],
  ]);
  gateway.host.advance(700);
  const ttft = () => gateway.host.metrics.histogram("warmroute.ttft_ms");
  assert.equal(ttft()?.count ?? 0, 0);
  exchange.stream.responseBody('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
  assert.equal(ttft()?.count, 1);
  assert.equal(ttft()?.sum, 700);
  exchange.stream.responseBody("data: [DONE]\n\n", true);
  assert.equal(ttft()?.count, 1);
  exchange.stream.done();
  const tokens = Number(exchange.stream.property("warmroute.prompt_tokens"));
  assert.ok(tokens >= 1000 && tokens < 1100, `${tokens}`);
  assert.equal(gateway.stat("prompt_tokens_total"), Math.floor(tokens));
  // An answer in one piece has no first token.
  gateway.send(chat("hi")).answer();
  assert.equal(ttft()?.count, 1);
});

test("a slow client isn't taken for an Envoy that can't pause", () => {
  const gateway = new Gateway(hostNames(3));
  gateway.send(chat("first"));
  const root = gateway.roots[0];
  assert.ok(root);
  const slow = root.createStream();
  slow.requestHeaders([
    [":method", "POST"],
    [":path", "/v1/chat/completions"],
    ["content-type", "application/json"],
  ]);
  gateway.host.advance(5000);
  assert.equal(slow.request.sentHeaders, undefined);
  slow.requestBody(JSON.stringify(chat("late")), true);
  assert.ok(slow.headers.get(ROUTING));
});

test("a body over the inspect limit is decided from its start and streams on (BC-02)", () => {
  const gateway = new Gateway(hostNames(3), { config: { inspect_limit_bytes: 65536 } });
  const text = "k".repeat(3_000_000);
  const exchange = gateway.send(chat(text), { chunk: 16384 });
  assert.equal(exchange.choice.length, 3);
  exchange.answer();
  assert.equal(exchange.stream.localReply, undefined);
  const tokens = Number(exchange.debug("prompt-tokens"));
  assert.ok(tokens > 700_000 && tokens < 800_000, `${tokens}`);
});

test("a refused configuration says where and what was expected", () => {
  assert.throws(
    () => new Gateway([], { config: { metrics: { interval_ms: -5 } } }),
    /metrics\.interval_ms: expected 10\.\.3600000, got -5/,
  );
});

test("all statistics exist from the start, at zero", () => {
  const names = new Gateway(hostNames(1)).host.metrics.names();
  for (const name of [
    "decisions_total.reason.session",
    "scrapes_total",
    "scrape_failures_total",
    "stale_hosts",
    "table_entries",
    "table_evictions_total",
    "expected_cached_tokens_total",
    "reported_cached_tokens_total",
    "internal_errors_total",
    "queue_length",
    "queue_wait_ms",
    "in_flight.host.10.0.0.1:8000",
  ]) {
    assert.ok(names.includes(`warmroute.${name}`), name);
  }
});

test("properties for access logs are there without debug headers", () => {
  const gateway = new Gateway(hostNames(2), { config: { debug_headers: false } });
  const exchange = gateway.send(chat("hello")).answer();
  assert.equal(exchange.debug("reason"), undefined);
  assert.equal(exchange.stream.property("warmroute.reason"), "cold");
  assert.equal(exchange.stream.property("warmroute.host"), exchange.target);
  assert.equal(exchange.stream.property("warmroute.prompt_chars"), "5");
});

test("a model name can't smuggle a header", () => {
  const gateway = new Gateway(hostNames(1));
  const exchange = gateway.send(chat("x", { model: "a\r\nset-cookie: b" })).answer();
  assert.doesNotMatch(exchange.debug("model") ?? "", /[\r\n]/);
});
