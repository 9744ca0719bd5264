/** What one worker notes of where conversations are, the others learn from its journal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { chat, Gateway, hostNames } from "./gateway.ts";
import { prose } from "./lab.ts";

const HOSTS = hostNames(4);

/** A conversation of several messages, whose content is its own. */
function turns(id: number, messages = 3): { role: string; content: string }[] {
  const next = random(1000 + id);
  return Array.from({ length: messages }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: `${id}/${i} ${prose(300, next)}`,
  }));
}

const bodyOf = (messages: object[]) => ({ ...chat(""), messages });

/** Sends a first turn; returns the host that served it. */
function begin(gateway: Gateway, worker: number, messages: object[]): string | undefined {
  return gateway.send(bodyOf(messages), { worker }).answer().target;
}

/** Where a worker sends the next turn, and why: of an unknown conversation `cold`, wherever it goes. */
function goOn(gateway: Gateway, worker: number, messages: object[]): (string | undefined)[] {
  const exchange = gateway.send(bodyOf([...messages, { role: "user", content: "And then?" }]), {
    worker,
  });
  exchange.answer();
  return [exchange.target, exchange.debug("reason")];
}

test("what one worker notes, the others know at once", () => {
  const gateway = new Gateway(HOSTS, { workers: 3 });
  // Rows that are new are found at ticks.
  for (let worker = 0; worker < 3; worker++) begin(gateway, worker, turns(1000 + worker));
  gateway.host.advance(100);
  for (let id = 0; id < 30; id++) {
    const host = begin(gateway, id % 3, turns(id));
    assert.deepEqual(
      goOn(gateway, (id + 1) % 3, turns(id)),
      [host, "prefix"],
      `conversation ${id}`,
    );
    // It has moved on from there to the third, which learns of both.
    assert.deepEqual(
      goOn(gateway, (id + 2) % 3, turns(id)),
      [host, "prefix"],
      `conversation ${id}`,
    );
  }
});

test("a worker that starts late, or again, learns what the others have noted", () => {
  const gateway = new Gateway(HOSTS, { workers: 2 });
  const places = Array.from({ length: 40 }, (_, id) => begin(gateway, id % 2, turns(id)));
  const late = gateway.addWorker();
  gateway.host.advance(200);
  for (const [id, host] of places.entries()) {
    assert.deepEqual(goOn(gateway, late, turns(id)), [host, "prefix"], `conversation ${id}`);
  }
  gateway.roots[0]?.vm.reload();
  gateway.host.advance(200);
  for (const [id, host] of places.entries()) {
    assert.deepEqual(goOn(gateway, 0, turns(id)), [host, "prefix"], `conversation ${id}`);
  }
});

test("whoever takes a dead worker's row goes on with its journal", () => {
  const gateway = new Gateway(HOSTS, { workers: 1 });
  const places = Array.from({ length: 20 }, (_, id) => begin(gateway, 0, turns(id)));
  gateway.host.vms.splice(0, 1);
  gateway.host.advance(6000);
  const heir = gateway.addWorker();
  gateway.host.advance(200);
  const more = Array.from({ length: 20 }, (_, id) => begin(gateway, heir, turns(100 + id)));
  const third = gateway.addWorker();
  gateway.host.advance(200);
  for (const worker of [heir, third]) {
    for (const [id, host] of places.entries()) {
      assert.deepEqual(goOn(gateway, worker, turns(id)), [host, "prefix"], `conversation ${id}`);
    }
    for (const [id, host] of more.entries()) {
      assert.deepEqual(goOn(gateway, worker, turns(100 + id)), [host, "prefix"]);
    }
  }
});

test("a worker that falls far behind misses the oldest and knows the newest", () => {
  const gateway = new Gateway(HOSTS, { workers: 2 });
  const first = begin(gateway, 0, turns(0));
  gateway.host.advance(100);
  // About seventy boundaries each, more than 256 × 64 in all; the other worker has no tick in between.
  for (let id = 1; id <= 300; id++) begin(gateway, 0, turns(id, 120));
  const last = begin(gateway, 0, turns(1000));
  assert.deepEqual(goOn(gateway, 1, turns(1000)), [last, "prefix"]);
  assert.equal(goOn(gateway, 1, turns(0))[1], "cold");
  assert.deepEqual(goOn(gateway, 0, turns(0)), [first, "prefix"]);
  assert.equal(gateway.stat("internal_errors_total"), 0);
});

test("a worker that was alone for long tells what it noted at ticks, until another comes", () => {
  const gateway = new Gateway(HOSTS, { workers: 1 });
  const writes = () => gateway.host.shared("warmroute").writes;
  const before = writes();
  for (let id = 0; id < 1010; id++) begin(gateway, 0, turns(id, 1));
  assert.ok(writes() - before > 2000, "each request is told while another worker may come");
  gateway.host.advance(60);
  const settled = writes();
  const places = Array.from({ length: 10 }, (_, id) => begin(gateway, 0, turns(2000 + id)));
  assert.ok(writes() - settled < 20, `${writes() - settled} writes for 10 requests`);
  gateway.host.advance(60);
  const late = gateway.addWorker();
  for (const [id, host] of places.entries()) {
    assert.deepEqual(goOn(gateway, late, turns(2000 + id)), [host, "prefix"], `conversation ${id}`);
  }
  gateway.host.advance(60);
  for (let id = 3000; id < 3010; id++) {
    const host = begin(gateway, id % 2, turns(id));
    assert.deepEqual(goOn(gateway, (id + 1) % 2, turns(id)), [host, "prefix"], `both, ${id}`);
  }
});

test("workers whose first requests come at the same instant get a row each", () => {
  const gateway = new Gateway(HOSTS, { workers: 3 });
  const shared = gateway.host.shared("warmroute");
  const set = shared.set.bind(shared);
  let next = 1;
  // Each is about to take the first row, which nobody has, when another does the same.
  shared.set = (key, value, cas) => {
    if (next < 3 && cas === 0 && key.includes("/row")) begin(gateway, next, turns(100 + next++));
    return set(key, value, cas);
  };
  begin(gateway, 0, turns(100));
  assert.equal(next, 3, "none was interrupted");
  const begun = Array.from({ length: 30 }, (_, id) => begin(gateway, id % 3, turns(id)));
  gateway.host.advance(60);
  for (const [id, host] of begun.entries()) {
    const seen = goOn(gateway, (id + 1) % 3, turns(id));
    assert.deepEqual(seen, [host, "prefix"], `conversation ${id}`);
  }
  for (let id = 0; id < 3; id++) assert.equal(goOn(gateway, id, turns(100 + id))[1], "prefix");
});
