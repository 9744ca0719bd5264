/** What sets a server aside, and for how long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HeaderMap } from "../host/headers.ts";
import { type Exchange, Gateway, hostNames, tally } from "./gateway.ts";
import { recordOf } from "./records.ts";
import { answer500, BAD, breakOff, burst, fail, GOOD, gatewayOf, send } from "./unwell.ts";

test("the time aside doubles with each failed trial, up to its bound, and ends with a good one", () => {
  const gateway = gatewayOf();
  fail(gateway, 2, answer500);
  for (const aside of [1000, 2000, 4000, 8000, 8000]) {
    gateway.host.advance(aside - 100);
    assert.equal(burst(gateway), 0, `not before ${aside} ms`);
    gateway.host.advance(200);
    const trial = Array.from({ length: 40 }, () => send(gateway));
    const tried = trial.filter((exchange) => exchange.target === BAD);
    assert.equal(tried.length, 1);
    for (const exchange of trial) {
      if (exchange.target === BAD) exchange.answer({ status: 502 });
      else exchange.answer();
    }
  }
  gateway.host.advance(8100);
  assert.equal(burst(gateway), 1);
  assert.ok(burst(gateway) > 5, "back for good");
  const record = recordOf(gateway, BAD);
  assert.deepEqual([record.failures, record.ejections, record.ejectedUntilMs], [0, 0, 0]);
});

test("failures between good answers don't set a server aside", () => {
  const gateway = gatewayOf();
  for (let round = 0; round < 5; round++) {
    fail(gateway, 1, answer500);
    fail(gateway, 1, (exchange) => void exchange.answer());
  }
  assert.equal(recordOf(gateway, BAD).ejections, 0);
});

test("4xx, clients that go away, and what Envoy itself can't do say nothing of the server", () => {
  const gateway = gatewayOf();
  const local = (status: number, details: string) => (exchange: Exchange) =>
    exchange.stream.reply(status, details, new HeaderMap(), "no");
  for (const how of [
    (exchange: Exchange) => void exchange.answer({ status: 400 }),
    (exchange: Exchange) => void exchange.answer({ status: 429 }),
    (exchange: Exchange) => exchange.stream.clientReset(),
    (exchange: Exchange) => exchange.begin().stream.clientReset(),
    local(503, "no_healthy_upstream"),
    local(503, "upstream_reset_before_response_started{overflow}"),
    local(500, "rate_limiter_error"),
  ]) {
    fail(gateway, 3, how);
    assert.equal(burst(gateway) > 0, true);
  }
  assert.equal(recordOf(gateway, BAD).failures, 0);
});

test("what Envoy answers by itself, whatever the status, is no answer of the server", () => {
  const gateway = gatewayOf();
  for (const status of [401, 403, 413, 429]) {
    fail(gateway, 1, answer500);
    // As a filter behind this one does.
    fail(gateway, 1, (exchange) => {
      exchange.stream.reply(status, "local_rate_limited", new HeaderMap(), "no");
      assert.equal(exchange.debug("host"), undefined);
    });
    if (status === 401) assert.equal(recordOf(gateway, BAD).failures, 1);
  }
  assert.equal(burst(gateway), 0);
});

test("resets and refused connections count, and failures behind a fallback", () => {
  for (const how of [
    breakOff,
    (exchange: Exchange) => exchange.begin().stream.upstreamReset(),
    (exchange: Exchange) => void exchange.answer({ host: GOOD }),
  ]) {
    const gateway = gatewayOf();
    fail(gateway, 2, how);
    assert.equal(burst(gateway), 0);
  }
});

test("all workers know at once that a server has had its trial", () => {
  const gateway = gatewayOf({ workers: 4 });
  fail(gateway, 2, answer500);
  gateway.host.advance(100);
  assert.equal(burst(gateway, 40, 4), 0);
  gateway.host.advance(1000);
  assert.equal(burst(gateway, 40, 4), 1);
});

test("when every server is aside Envoy decides, and what it finds counts", () => {
  const gateway = gatewayOf({ hosts: [BAD] });
  fail(gateway, 2, answer500);
  const exchange = send(gateway);
  assert.deepEqual(exchange.choice, []);
  exchange.answer({ host: BAD });
  assert.equal(exchange.stream.response.headers.get(":status"), "200");
  gateway.host.advance(1100);
  assert.equal(send(gateway).target, BAD);
});

test("a server that answers 503 at once, others after 2 s: at most 15 of 100 (BC-21)", () => {
  const hosts = hostNames(4);
  const gateway = new Gateway(hosts, { workers: 2 });
  const bad = hosts[1] as string;
  const open: { exchange: Exchange; dueMs: number }[] = [];
  const targets: (string | undefined)[] = [];
  while (targets.length < 100) {
    while (open.length < 8 && targets.length < 100) {
      const exchange = send(gateway, targets.length % 2);
      targets.push(exchange.target);
      open.push({ exchange, dueMs: gateway.clock.ms + (exchange.target === bad ? 2 : 2000) });
    }
    open.sort((a, b) => a.dueMs - b.dueMs);
    const { exchange, dueMs } = open.shift() as (typeof open)[number];
    gateway.host.advance(Math.max(0, dueMs - gateway.clock.ms));
    exchange.answer({ status: exchange.target === bad ? 503 : 200 });
  }
  const got = tally(targets).get(bad) ?? 0;
  assert.ok(got <= 15, `${got} of 100 went to the failing server`);
});

test("a request that several servers fail one after another speaks against none of them", () => {
  const gateway = gatewayOf();
  for (let i = 0; i < 10; i++) {
    const exchange = send(gateway);
    const last = exchange.target === BAD ? GOOD : BAD;
    exchange.answer({ status: 500, host: last });
  }
  const served = tally(Array.from({ length: 40 }, () => send(gateway).target));
  assert.equal(served.size, 2, "both are used");
});
