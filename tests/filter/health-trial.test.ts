/** What lets a server back that was set aside. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Exchange } from "./gateway.ts";
import { recordOf } from "./records.ts";
import { answer500, BAD, breakOff, burst, fail, gatewayOf, send } from "./unwell.ts";

test("a trial whose client went away is followed by another", () => {
  const gateway = gatewayOf();
  fail(gateway, 2, answer500);
  gateway.host.advance(1100);
  fail(gateway, 1, (exchange) => exchange.stream.clientReset());
  assert.equal(burst(gateway), 1);
});

test("a good scrape shortens the time only where connection errors were the cause", () => {
  let reachable = true;
  for (const [how, earlier] of [
    [answer500, false],
    [breakOff, true],
  ] as const) {
    const gateway = gatewayOf({ scrapes: () => reachable });
    gateway.host.advance(2000);
    reachable = false;
    gateway.host.advance(2000);
    fail(gateway, 2, how);
    assert.equal(burst(gateway), 0);
    reachable = true;
    // Failed polls back off, to 4 intervals.
    gateway.host.advance(700);
    const before = recordOf(gateway, BAD).ejectedUntilMs;
    gateway.host.advance(9000);
    if (earlier) assert.ok(recordOf(gateway, BAD).ejectedUntilMs <= gateway.clock.ms);
    else assert.equal(recordOf(gateway, BAD).ejectedUntilMs, before);
    assert.equal(burst(gateway), 1);
  }
});

test("a server that serves its metrics and breaks off requests isn't tried at each scrape", () => {
  const gateway = gatewayOf({ scrapes: () => true });
  gateway.host.advance(1000);
  let broken = 0;
  // 100 s of 10 requests a second.
  for (let i = 0; i < 1000; i++) {
    const exchange = send(gateway);
    if (exchange.target === BAD) {
      broken++;
      breakOff(exchange);
    } else exchange.answer();
    gateway.host.advance(100);
  }
  assert.ok(broken <= 20, `${broken} of 1000 broke`);
});

test("a server that breaks answers off is proved by a whole one: not by first tokens, nor by scrapes", () => {
  const gateway = gatewayOf({ scrapes: () => true });
  gateway.host.advance(1000);
  const stream = (exchange: Exchange) =>
    exchange.begin({ headers: { "content-type": "text/event-stream" } });
  const token = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
  const cut = (exchange: Exchange) => {
    stream(exchange).stream.responseBody(token, false);
    exchange.stream.upstreamReset();
  };
  fail(gateway, 2, cut);
  for (const aside of [1000, 2000, 4000]) {
    gateway.host.advance(aside - 100);
    assert.equal(burst(gateway), 0, `not before ${aside} ms`);
    gateway.host.advance(200);
    fail(gateway, 1, (trial) => {
      stream(trial).stream.responseBody(token, false);
      assert.equal(burst(gateway), 0, "while its trial streams");
      trial.stream.upstreamReset();
    });
  }
  gateway.host.advance(8100);
  assert.equal(burst(gateway), 1);
  assert.ok(burst(gateway) > 5, "back after a whole answer");
});

test("answers to requests from before it was set aside don't let a server back", () => {
  const gateway = gatewayOf();
  const open = Array.from({ length: 40 }, () => send(gateway));
  const old = open.filter((exchange) => exchange.target === BAD);
  for (const exchange of open) if (exchange.target !== BAD) exchange.answer();
  for (const exchange of old.splice(5)) exchange.answer();
  for (const exchange of old.splice(0, 2)) answer500(exchange);
  gateway.host.advance(1100);
  assert.equal(recordOf(gateway, BAD).ejections, 1);
  old.shift()?.answer();
  old.shift()?.stream.clientReset();
  const trials = () =>
    Array.from({ length: 40 }, () => send(gateway)).filter((exchange) => exchange.target === BAD);
  const [trial, ...others] = trials();
  assert.ok(trial && others.length === 0, "one trial, though others' answers were good");
  old.shift()?.stream.clientReset();
  assert.equal(trials().length, 0, "still under way");
  answer500(trial);
  assert.equal(recordOf(gateway, BAD).ejections, 2);
});
