import assert from "node:assert/strict";
import { test } from "node:test";
import { HeaderMap } from "../host/headers.ts";
import { chat, type Exchange, Gateway, hostNames, tally } from "./gateway.ts";
import { recordOf } from "./records.ts";

const [BAD, GOOD] = hostNames(2) as [string, string];
const IDLE = "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n";

interface Options {
  scrapes?: () => boolean;
  workers?: number;
  hosts?: string[];
}

/** A gateway that sets a server aside after two failures, for a second at first. */
function gatewayOf({ scrapes, workers, hosts = [BAD, GOOD] }: Options = {}): Gateway {
  const metrics = scrapes ? { interval_ms: 500, stale_after_ms: 5000 } : { source: "none" };
  return new Gateway(hosts, {
    workers: workers ?? 1,
    config: { metrics, health: { failures: 2, eject_ms: 1000, eject_max_ms: 8000 } },
    onCall: (call) => {
      if (call.headers.get(":authority") === BAD && !scrapes?.()) call.refuse();
      else call.respond(200, IDLE);
    },
  });
}

let serial = 0;
const send = (gateway: Gateway, worker = 0): Exchange =>
  gateway.send(chat(`question ${serial++ * 7919}`), { worker });

/** Sends until `count` requests went to the bad server and failed; the others are answered. */
function fail(gateway: Gateway, count: number, how: (exchange: Exchange) => void): void {
  for (let failed = 0, tries = 0; failed < count && tries < 200; tries++) {
    const exchange = send(gateway);
    if (exchange.target === BAD) {
      failed++;
      how(exchange);
    } else exchange.answer();
  }
}

/** Requests at once, of which so many went to the bad server; then each is answered. */
function burst(gateway: Gateway, count = 40, workers = 1): number {
  const open = Array.from({ length: count }, (_, i) => send(gateway, i % workers));
  const bad = open.filter((exchange) => exchange.target === BAD).length;
  for (const exchange of open) {
    assert.ok(bad > 0 || !exchange.choice.includes(BAD), "no fallback either");
    exchange.answer();
  }
  return bad;
}

const answer500 = (exchange: Exchange) => void exchange.answer({ status: 500 });
const breakOff = (exchange: Exchange) => exchange.stream.upstreamReset();

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

/** Runs 4 s of 50 short requests a second, then 4 s of 500; all but the bad server answer after 400 ms. */
function silence(gateway: Gateway): number {
  const open: { exchange: Exchange; sentMs: number }[] = [];
  const over = ({ exchange, sentMs }: (typeof open)[number]) =>
    exchange.target !== BAD && gateway.clock.ms - sentMs >= 400;
  let stuck = 0;
  for (let i = 0; i < 2200; i++) {
    // Short answers: what waits there doesn't make a batch that others would shun.
    const exchange = gateway.send(chat(`question ${serial++ * 7919}`, { max_tokens: 1 }));
    if (exchange.target === BAD) stuck++;
    open.push({ exchange, sentMs: gateway.clock.ms });
    gateway.host.advance(i < 200 ? 20 : 2);
    for (const entry of open.filter(over)) {
      open.splice(open.indexOf(entry), 1);
      entry.exchange.answer();
    }
  }
  for (const { exchange } of open) exchange.answer();
  return stuck;
}

test("a server that takes requests and never answers gets few, though its metrics say it is idle", () => {
  const gateway = gatewayOf({ hosts: hostNames(4), scrapes: () => true });
  gateway.host.advance(1000);
  const stuck = silence(gateway);
  assert.ok(stuck > 0 && stuck <= 16, `${stuck} of 2200 wait there`);
  assert.ok(burst(gateway) > 0, "it answers again, and is used again");
});

test("clients that leave a server where nobody is answered speak against it", () => {
  const gateway = gatewayOf({ hosts: hostNames(4), scrapes: () => true });
  gateway.host.advance(1000);
  const open = Array.from({ length: 40 }, () =>
    gateway.send(chat(`question ${serial++ * 7919}`, { stream: true })),
  );
  const waiting = open.filter((exchange) => exchange.target === BAD);
  for (const exchange of open) if (exchange.target !== BAD) exchange.answer();
  gateway.host.advance(5000);
  waiting.shift()?.stream.clientReset();
  waiting.shift()?.stream.clientReset();
  assert.equal(recordOf(gateway, BAD).failures, 0, "it may only be slow");
  gateway.host.advance(8000);
  waiting.shift()?.stream.clientReset();
  waiting.shift()?.stream.clientReset();
  assert.equal(burst(gateway), 0, "it is set aside");
});
