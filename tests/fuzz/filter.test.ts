/** The shipped module in a hostile world: it never traps, loses count, obeys a client, or grows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HostileWorld, ROUTING, SERVERS } from "./filter.world.ts";
import { watchMemory } from "./inputs.ts";
import { Random } from "./random.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 12_000);
/** Steps after which a new world begins. */
const STEPS = 3000;

/** Servers that the filter may know: its own, the fixtures', and one that answered. */
const SERVER = "(?:10\\.0\\.0\\.\\d+|\\[fd00::1\\]|127\\.0\\.0\\.1|10\\.9\\.9\\.9):[1-9]\\d*";
const OWN_LIST = new RegExp(`^${SERVER}(?:,${SERVER}){0,2}$`);

test(`${RUNS} steps of clients and servers that do anything`, () => {
  let memoryBytes = 0;
  for (let from = 0; from < RUNS; from += STEPS) {
    const world = new HostileWorld(new Random(17 + from));
    for (let i = 0; i < Math.min(STEPS, RUNS - from); i++) world.step();
    world.settle();
    const { metrics } = world.host;
    const stat = (name: string) =>
      metrics.counter(`warmroute.${name}`) ?? metrics.gauge(`warmroute.${name}`) ?? 0;
    for (const host of SERVERS) assert.equal(stat(`in_flight.host.${host}`), 0, `${host}, ${from}`);
    assert.equal(stat("queue_length"), 0, `queue, ${from}`);
    assert.equal(stat("internal_errors_total"), 0, `inner failures, ${from}`);
    memoryBytes = Math.max(memoryBytes, world.memoryBytes);
  }
  assert.ok(memoryBytes < 64 << 20, `${memoryBytes} bytes for two VMs`);
});

test("what only the filter may say never comes from a client", () => {
  const world = new HostileWorld(new Random(18));
  let sent = 0;
  world.onSent = ({ headers }) => {
    sent++;
    for (const value of headers.all(ROUTING)) assert.match(value, OWN_LIST);
    assert.ok(headers.all(ROUTING).length <= 1);
    for (const name of ["host", "key", "choice"]) {
      assert.equal(headers.get(`x-warmroute-${name}`), undefined);
    }
  };
  const steps = Math.min(RUNS, 6000);
  for (let i = 0; i < steps; i++) world.step();
  assert.ok(sent > steps / 20, `${sent} requests went on`);
});

test("memory is flat once everything has been seen", () => {
  const world = new HostileWorld(new Random(19));
  const steps = Math.max(RUNS, 2000);
  for (let i = 0; i < steps; i++) world.step();
  const before = world.memoryBytes;
  watchMemory("two workers", () => world.memoryBytes);
  for (let i = 0; i < steps; i++) world.step();
  // Memory grows by doubling, when something large finds no gap; what leaks would double it again and again.
  assert.ok(world.memoryBytes <= 2 * before, `${world.memoryBytes} bytes, ${before} before`);
});
