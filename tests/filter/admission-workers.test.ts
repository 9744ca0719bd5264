import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { details, full, H1, isHeld, isSent, nextSeed, orderOf, question, status } from "./busy.ts";
import { chat } from "./gateway.ts";
import { prose } from "./lab.ts";

test("limits hold over all workers, and no worker starves another", () => {
  const { gateway, reports } = full({ queue_limit: 4 }, { workers: 4 });
  const held = Array.from({ length: 4 }, (_, worker) => gateway.send(question(), { worker }));
  assert.ok(held.every(isHeld));
  // Workers find each other's rows at a tick.
  gateway.host.advance(100);
  const refused = Array.from({ length: 4 }, (_, worker) => gateway.send(question(), { worker }));
  assert.deepEqual(refused.map(status), [429, 429, 429, 429]);
  assert.equal(gateway.stat("queue_length"), 4);
  assert.equal(orderOf(gateway, reports, held).length, 4);
  assert.equal(gateway.stat("queue_length"), 0);
});

test("one order over all workers: strictly by priority, then the more urgent", () => {
  const { gateway, reports } = full({}, { workers: 4 });
  const send = (worker: number, priority: string, bytes: number) =>
    gateway.send(chat(prose(bytes, random(nextSeed()))), {
      worker,
      headers: { "x-warmroute-priority": priority },
    });
  const held = [
    send(0, "low", 20),
    send(0, "low", 9000),
    send(1, "normal", 60_000),
    send(2, "normal", 20),
    send(3, "high", 40_000),
    send(3, "low", 40_000),
  ];
  gateway.host.advance(100);
  assert.deepEqual(orderOf(gateway, reports, held), [4, 3, 2, 0, 1, 5]);
});

test("a quiet tenant at one worker isn't starved by a flood at the others", () => {
  const config = { affinity: { tenant_header: "x-tenant" } };
  const { gateway, reports } = full({}, { config, workers: 3 });
  const send = (tenant: string, worker: number) =>
    gateway.send(question(), { worker, headers: { "x-tenant": tenant } });
  const flood = Array.from({ length: 20 }, (_, i) => send("loud", i % 2));
  gateway.host.advance(500);
  const quiet = Array.from({ length: 4 }, () => send("quiet", 2));
  gateway.host.advance(50);
  const order = orderOf(gateway, reports, [...flood, ...quiet]);
  assert.equal(order.length, 24);
  assert.ok(order.indexOf(23) <= 14, `${order}`);
});

test("a worker that stands still keeps nobody from the room", () => {
  const { gateway, reports } = full({}, { workers: 2 });
  const high = gateway.send(question(), { headers: { "x-warmroute-priority": "high" } });
  const normal = gateway.send(question(), { worker: 1 });
  gateway.host.advance(100);
  assert.ok(isHeld(high) && isHeld(normal));
  // Its next is bound to wait: only the other's has room.
  reports[H1] = { running: 2, waiting: 62, kv: 0.1 };
  gateway.host.advance(700);
  assert.ok(isSent(high) && isSent(normal));
});

test("in a full queue the lowest priority over all workers leaves, whichever worker somebody comes to", () => {
  const { gateway } = full({ queue_limit: 4 }, { workers: 4 });
  const send = (worker: number, priority: string) => {
    const headers = { "x-warmroute-priority": priority };
    const exchange = gateway.send(question(), { worker, headers });
    gateway.host.advance(30);
    return exchange;
  };
  const held = [send(0, "-10"), send(0, "-30"), send(1, "-20"), send(2, "5")] as const;
  assert.ok(held.every(isHeld));
  const normal = send(1, "0");
  assert.deepEqual(held.map(isHeld), [true, false, true, true], "not the lowest of its own worker");
  assert.equal(details(held[1]), "warmroute_queue_full");
  const high = send(3, "10");
  assert.deepEqual(held.map(isHeld), [true, false, false, true]);
  assert.equal(details(held[2]), "warmroute_queue_full");
  const low = send(3, "-10");
  assert.equal(details(low), "warmroute_queue_full", "nobody is lower: the newcomer is refused");
  assert.ok([held[0], held[3], normal, high].every(isHeld));
  assert.equal(gateway.stat("queue_length"), 4);
  assert.equal(gateway.stat("rejected_total.cause.queue_full"), 3);
});
