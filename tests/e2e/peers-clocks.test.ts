/** Gateways whose wall clocks differ, and are set while they serve, on real Envoy under load. */
import assert from "node:assert/strict";
import test from "node:test";
import { freePorts } from "../../tools/envoy/ports.ts";
import { random, words } from "../../tools/seeded.ts";
import { buildClock, WallClock } from "./clock.ts";
import { assertNothingLost, assertSettled, round, servers } from "./faults.ts";
import { gateway, inParallel, post } from "./harness.ts";
import { Traffic } from "./traffic.ts";
import { until } from "./until.ts";

const HOUR_MS = 3_600_000;
const AHEAD_MS = [0, HOUR_MS, -HOUR_MS] as const;
const OTHERS = AHEAD_MS.length - 1;

const skip = buildClock() ?? false;

/** Gateways that hear each other, each with a clock of its own. */
async function start() {
  const fleet = await servers(4);
  const ports = await freePorts(AHEAD_MS.length);
  const hosts = ports.map((port) => `127.0.0.1:${port}`);
  const clocks = AHEAD_MS.map((aheadMs) => new WallClock(aheadMs));
  const gateways = await Promise.all(
    clocks.map(({ env }, i) =>
      gateway(
        fleet.addresses,
        { metrics: { source: "hosts" }, peers: { cluster: "warmroute_peers", hosts } },
        { workers: 2, peers: { port: ports[i] as number, hosts }, env },
      ),
    ),
  );
  /** Waits until all hear all others; how long that took, ms. */
  const hear = () =>
    until("all gateways heard", async () => {
      const stats = await Promise.all(gateways.map((envoy) => envoy.stats()));
      return stats.every((each) => each.sum("warmroute_peers_heard") === OTHERS);
    });
  return { gateways, clocks, hear };
}

test("gateways whose clocks are an hour apart hear each other, and conversations that hop stay with their cache", {
  skip,
}, async (t) => {
  const { gateways, hear } = await start();
  const heardMs = await hear();
  const dates = await Promise.all(
    gateways.map(async (envoy) => {
      const answer = await post(envoy.port, question("What time is it?"));
      assert.equal(answer.status, 200);
      const [line] = await envoy.accessLog(1);
      return Date.parse(String(line?.time)) - Date.now();
    }),
  );
  dates.forEach((aheadMs, i) => {
    const wrongMs = Math.abs(aheadMs - (AHEAD_MS[i] as number));
    assert.ok(wrongMs < HOUR_MS / 2, `clock ${i} is ${aheadMs} ms ahead`);
  });
  let stayed = 0;
  const CONVERSATIONS = 30;
  const TURNS = 4;
  await inParallel(Array.from({ length: CONVERSATIONS }), 3, async (_none, i) => {
    const rand = random(i);
    const messages: { role: string; content: string }[] = [];
    let home: unknown;
    for (let turn = 0; turn < TURNS; turn++) {
      messages.push({ role: "user", content: words(rand, 600) });
      const envoy = gateways[(i + turn) % gateways.length] as (typeof gateways)[0];
      const answer = await post(envoy.port, { model: "test-model", messages, max_tokens: 4 });
      assert.equal(answer.status, 200);
      const { choices } = JSON.parse(answer.body.toString());
      messages.push({ role: "assistant", content: choices[0].message.content });
      if (turn > 0 && answer.headers["x-served-by"] === home) stayed++;
      home = answer.headers["x-served-by"];
    }
  });
  const later = CONVERSATIONS * (TURNS - 1);
  t.diagnostic(`all heard after ${round(heardMs)} ms; ${stayed} of ${later} later turns stayed`);
  assert.ok(stayed >= 0.97 * later, `${stayed} of ${later} later turns stayed`);
});

function question(content: string) {
  return { model: "test-model", messages: [{ role: "user", content }], max_tokens: 4 };
}

test("a clock that is set, far or a little, forward or back, under load: nothing is lost, and all are heard again", {
  skip,
}, async (t) => {
  const { gateways, clocks, hear } = await start();
  await hear();
  const through = gateways.map(({ port }) => new Traffic(port, { clients: 6, pauseMs: 20 }));
  let aheadMs: number = AHEAD_MS[1];
  for (const byMs of [-2 * HOUR_MS, 3 * HOUR_MS, -1500, 1500]) {
    aheadMs += byMs;
    clocks[1]?.set(aheadMs);
    const from = through.map((traffic) => traffic.now());
    await until("requests under the new time", () =>
      through.every((traffic, i) => traffic.since(from[i] as number).length >= 60),
    );
    const heardMs = await hear();
    t.diagnostic(`set by ${byMs} ms: all heard ${round(heardMs)} ms after 60 requests`);
  }
  let requests = 0;
  for (const traffic of through) {
    await traffic.stop();
    requests += traffic.outcomes.length;
    assertNothingLost(traffic);
    assert.equal(traffic.broken().length, 0);
  }
  const settledMs: number[] = [];
  for (const envoy of gateways) settledMs.push(await assertSettled(envoy));
  t.diagnostic(`${requests} requests, none lost; in-flight zero after ${settledMs.map(round)} ms`);
});
