import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import {
  BUSY,
  details,
  FREE,
  full,
  H1,
  isHeld,
  isSent,
  nextSeed,
  orderOf,
  question,
  type Report,
  reporting,
  scenario,
  status,
} from "./busy.ts";
import { chat, type Exchange, hostNames } from "./gateway.ts";
import { prose } from "./lab.ts";

test("a slot is freed exactly once: aborts, resets, errors, a queue with leavers (BC-24)", () => {
  const { queue_limit } = scenario<{ queue_limit: number }>("BC-24.json");
  const reports: Record<string, Report> = { [H1]: FREE };
  const gateway = reporting([H1], reports, { queue_limit, queue_timeout_ms: 3000 });
  const check = (inFlight: number, queued: number) => {
    gateway.host.advance(100);
    assert.equal(gateway.inFlight(H1), inFlight);
    assert.equal(gateway.stat("queue_length"), queued);
  };
  const [r1, r2, r3] = [question(), question(), question()].map((body) => gateway.send(body)) as [
    Exchange,
    Exchange,
    Exchange,
  ];
  check(3, 0);
  r1.stream.clientReset();
  check(2, 0);
  r2.stream.upstreamReset();
  r3.answer({ status: 503 });
  r3.stream.done();
  check(0, 0);
  reports[H1] = BUSY;
  gateway.host.advance(700);
  const q1 = gateway.send(question());
  const q2 = gateway.send(question());
  check(0, 2);
  q1.stream.clientReset();
  check(0, 1);
  gateway.host.advance(1000);
  const q3 = gateway.send(question());
  assert.ok(isHeld(q3), "admitted after q1 left");
  check(0, 2);
  gateway.host.advance(2000);
  assert.equal(status(q2), 429);
  assert.equal(details(q2), "warmroute_queue_timeout");
  check(0, 1);
  reports[H1] = FREE;
  gateway.host.advance(600);
  assert.ok(isSent(q3));
  check(1, 0);
  q3.answer();
  check(0, 0);
});

test("held: paused whole, sent on as it was, time told", () => {
  const { gateway, free } = full();
  const body = JSON.stringify(chat(prose(5000, random(4))));
  const held = gateway.send(body, { chunk: 700 });
  assert.ok(isHeld(held));
  assert.equal(gateway.stat("queue_length"), 1);
  free();
  assert.equal(held.target, H1);
  assert.equal(held.stream.request.sentBody.toString(), body);
  const waited = Number(held.answer().debug("queued-ms"));
  assert.ok(waited > 0 && waited <= 700, `${waited}`);
  assert.equal(gateway.stat("queue_length"), 0);
  assert.equal(gateway.host.metrics.histogram("warmroute.queue_wait_ms")?.count, 1);
});

test("a conversation that was held still knows where its cache is", () => {
  const names = hostNames(3);
  const reports: Record<string, Report> = Object.fromEntries(names.map((name) => [name, FREE]));
  const gateway = reporting(names, reports);
  const text = prose(24_000, random(5));
  const home = gateway.send(chat(text)).answer().target as string;
  for (const name of names) reports[name] = BUSY;
  gateway.host.advance(700);
  const held = gateway.send(chat(text));
  assert.ok(isHeld(held));
  reports[home] = FREE;
  gateway.host.advance(700);
  assert.equal(held.target, home);
  assert.ok(Number(held.begin().debug("cached-tokens")) > 4000);
});

test("an unread request is held as well", () => {
  const { gateway, free } = full();
  const bytes = new Uint8Array(3000).fill(7);
  const held = gateway.send(bytes, { headers: { "content-encoding": "gzip" } });
  assert.ok(isHeld(held));
  free();
  assert.equal(held.target, H1);
  assert.deepEqual(new Uint8Array(held.stream.request.sentBody), bytes);
  assert.equal(held.answer().debug("reason"), "opaque");
});

test("priorities go strictly first; bad ones are normal", () => {
  const { gateway, reports } = full();
  const priorities = ["-100", "low", "101", "high", "100"];
  const held = priorities.map((value) =>
    gateway.send(question(), { headers: { "x-warmroute-priority": value } }),
  );
  assert.deepEqual(orderOf(gateway, reports, held), [4, 3, 2, 1, 0]);
});

test("without a header, what the configuration says of its path or model", () => {
  const { gateway, reports } = full({
    high_priority: ["urgent/model"],
    low_priority: ["*/embeddings", "nightly"],
  });
  const model = (name: string, headers: Record<string, string> = {}) =>
    gateway.send({ ...question(), model: name }, { headers });
  const held = [
    gateway.send({ model: "m1", input: `text ${nextSeed()}` }, { path: "/v1/embeddings?x=1" }),
    model("nightly"),
    model("m1"),
    model("urgent/model"),
    model("nightly", { "x-warmroute-priority": "20" }),
  ];
  const order = orderOf(gateway, reports, held);
  assert.deepEqual(order.slice(0, 3), [4, 3, 2]);
  assert.equal(order.length, 5);
});

test("small work goes first, and what has waited long enough before it", () => {
  const { gateway, reports } = full();
  const large = gateway.send(chat(prose(60_000, random(7))));
  const small = gateway.send(question());
  assert.deepEqual(orderOf(gateway, reports, [large, small]), [1, 0]);
  reports[H1] = BUSY;
  gateway.host.advance(700);
  const aged = gateway.send(chat(prose(60_000, random(8))));
  gateway.host.advance(20_000);
  const late = gateway.send(question());
  assert.deepEqual(orderOf(gateway, reports, [aged, late]), [0, 1]);
});

test("a tenant that floods doesn't push a quiet one back", () => {
  const config = { affinity: { tenant_header: "x-tenant" } };
  const { gateway, reports } = full({}, { config });
  const flood = Array.from({ length: 20 }, () =>
    gateway.send(question(), { headers: { "x-tenant": "loud" } }),
  );
  const quiet = Array.from({ length: 3 }, () =>
    gateway.send(question(), { headers: { "x-tenant": "quiet" } }),
  );
  const order = orderOf(gateway, reports, [...flood, ...quiet]);
  assert.equal(order.length, 23);
  assert.ok(order.indexOf(22) <= 6, `${order}`);
});

test("with `slo: lower`, who can't meet its goal any more lets the others go first", () => {
  const { gateway, reports } = full({ slo: "lower" });
  const missed = gateway.send(question(), { headers: { "x-slo-ttft-ms": "200" } });
  gateway.host.advance(400);
  const inTime = gateway.send(chat(prose(4000, random(9))), {
    headers: { "x-slo-ttft-ms": "60000" },
  });
  assert.deepEqual(orderOf(gateway, reports, [missed, inTime]), [1, 0]);
});

test("a new configuration and an end of the root leave nobody behind", () => {
  const { gateway } = full();
  const held = Array.from({ length: 3 }, () => gateway.send(question()));
  const [root] = gateway.roots;
  root?.configure(Buffer.from(JSON.stringify({ hosts: [H1], admission: { enabled: false } })));
  gateway.host.advance(100);
  assert.ok(held.every(isSent));
  const other = full();
  const left = other.gateway.send(question());
  assert.ok(isHeld(left));
  other.gateway.roots[0]?.end();
  assert.ok(isSent(left));
});

test("requests that a VM held when it trapped are counted no more once its row is dead", () => {
  const { gateway } = full();
  for (let i = 0; i < 3; i++) assert.ok(isHeld(gateway.send(question())));
  gateway.host.advance(100);
  assert.equal(gateway.stat("queue_length"), 3);
  gateway.roots[0]?.vm.reload();
  assert.ok(isHeld(gateway.send(question())));
  gateway.host.advance(6000);
  assert.equal(gateway.stat("queue_length"), 1);
});

test("5000 held: bounded memory, used again, and nobody is forgotten", () => {
  const { gateway, reports, free } = full({
    queue_limit: 5000,
    queue_timeout_ms: 60_000,
    late_binding_ms: 10_000,
  });
  const memory: number[] = [];
  for (let round = 0; round < 3; round++) {
    reports[H1] = BUSY;
    gateway.host.advance(700);
    const held = Array.from({ length: 5000 }, () => gateway.send(question()));
    assert.ok(held.every(isHeld));
    assert.equal(status(gateway.send(question())), 429);
    memory.push(gateway.roots[0]?.guest.memoryBytes ?? 0);
    free();
    for (let i = 0; i < 2000 && held.some(({ stream }) => !stream.finished); i++) {
      for (const exchange of held) {
        if (isSent(exchange) && !exchange.stream.finished) exchange.answer();
      }
      gateway.host.advance(10);
    }
    assert.ok(held.every(({ stream }) => stream.finished && !stream.localReply));
    assert.equal(gateway.stat("queue_length"), 0);
  }
  assert.equal(memory[2], memory[1]);
  assert.ok((memory[0] ?? 0) < 5000 * 16_384 + 64 * 1024 * 1024, `${memory[0]} bytes`);
});
