/** Servers that die, hang, slow down, break off or answer 500, under load: what clients see. */
import assert from "node:assert/strict";
import test from "node:test";
import type { FaultOrder } from "../llm/server.ts";
import {
  assertNothingLost,
  assertSettled,
  EJECT_MS,
  figure,
  mostMet,
  round,
  served,
  servers,
  shipped,
  until,
  wait,
} from "./faults.ts";
import { gateway, post, sinks } from "./harness.ts";
import { type Outcome, Traffic } from "./traffic.ts";

test("half of the servers are killed under load and return: nothing is lost", async () => {
  const fleet = await servers(4);
  const envoy = await shipped(fleet.addresses);
  const traffic = new Traffic(envoy.port, { clients: 64 });
  await wait(1000);
  const killedMs = traffic.now();
  await Promise.all([fleet.servers[0]?.kill(), fleet.servers[1]?.kill()]);
  const dead = fleet.addresses.slice(0, 2);
  const names = ({ choice }: Outcome) => dead.some((host) => choice.includes(host));
  const outMs = await until("requests whose lists leave them out", () => {
    const last = traffic.since(killedMs).slice(-200);
    return last.length === 200 && !last.some(names);
  });
  const revivedMs = traffic.now();
  await Promise.all([fleet.servers[0]?.revive(), fleet.servers[1]?.revive()]);
  const backMs = await returned(() => served(traffic, dead, revivedMs));
  await traffic.stop();
  figure("2 of 4 servers killed", traffic, `out of 200 lists after ${round(outMs)} ms`, backMs);
  assertNothingLost(traffic);
  await assertSettled(envoy);
});

test("a server dies while requests are held for room: all are served, the queue is empty afterwards", async () => {
  const fleet = await servers(3, { engine: { maxRunning: 2 } });
  const envoy = await shipped(fleet.addresses, { admission: { max_waiting: 2 } });
  const traffic = new Traffic(envoy.port, { clients: 48, tokens: 24 });
  const held = async () => (await envoy.stats()).sum("warmroute_queue_length");
  let most = 0;
  await until("a queue", async () => {
    most = Math.max(most, await held());
    return most > 0;
  });
  await fleet.servers[0]?.kill();
  for (let i = 0; i < 10; i++) {
    await wait(100);
    most = Math.max(most, await held());
  }
  const revivedMs = traffic.now();
  await fleet.servers[0]?.revive();
  const host = fleet.addresses[0] as string;
  const backMs = await returned(() => served(traffic, [host], revivedMs));
  await traffic.stop();
  figure("1 of 3 killed, requests held", traffic, `${most} held at most`, backMs);
  assertNothingLost(traffic);
  await assertSettled(envoy);
});

test("all servers are gone and come back: refused at once, not held, and served again", async () => {
  const fleet = await servers(3);
  const envoy = await shipped(fleet.addresses);
  const traffic = new Traffic(envoy.port, { clients: 8, pauseMs: 20 });
  await wait(500);
  const goneMs = traffic.now();
  await Promise.all(fleet.servers.map((server) => server.kill()));
  await until("refusals", () => traffic.lost().length >= 50);
  assert.equal((await envoy.stats()).sum("warmroute_queue_length"), 0, "none is held");
  const revivedMs = traffic.now();
  await Promise.all(fleet.servers.map((server) => server.revive()));
  const backMs = await until("all of them", () =>
    fleet.addresses.every((host) => served(traffic, [host], revivedMs)),
  );
  const allBackMs = traffic.now();
  await until("requests afterwards", () => traffic.since(allBackMs).length >= 100);
  await traffic.stop();
  const lastMs = Math.max(...traffic.lost().map(({ endedMs }) => endedMs)) - revivedMs;
  figure(
    "all servers gone",
    traffic,
    `last refusal ${round(lastMs)} ms after they returned`,
    backMs,
  );
  for (const { status, sentMs, endedMs } of traffic.lost()) {
    assert.equal(status, 503);
    assert.ok(endedMs >= goneMs, "refused before they were gone");
    assert.ok(sentMs < allBackMs, "refused after all had served again");
  }
  await assertSettled(envoy);
});

test("a server that resets every request before its answer: each is served by another", async () => {
  const { traffic, share } = await struck({ kind: "reset" });
  figure("one resets before the answer", traffic, share);
  assertNothingLost(traffic);
});

test("a server that answers 500 at once: each request is served by another, and it gets few", async () => {
  const { traffic, share, sent, most } = await struck({ kind: "status", status: 500 });
  figure("one answers 500", traffic, share);
  assertNothingLost(traffic);
  assert.ok(sent <= most, `${sent} requests were sent there first, at most ${most} need be`);
});

test("a server that breaks off its answers: few are hit, then it is set aside", async () => {
  const { traffic, share, most } = await struck({ kind: "reset_mid_stream", afterTokens: 2 });
  figure("one breaks off", traffic, share);
  assertNothingLost(traffic);
  const broken = traffic.broken().length;
  assert.ok(broken > 0, "the fault met nobody");
  assert.ok(broken <= most, `${broken} broken off, at most ${most} need be`);
});

test("a server that becomes ten times slower gets less, and nothing is lost", async () => {
  const fleet = await servers(4);
  const envoy = await shipped(fleet.addresses);
  const traffic = new Traffic(envoy.port, { clients: 32 });
  await wait(800);
  const counts = () => fleet.stats().map(({ requests }) => requests);
  await fleet.fault(1, { kind: "slow", factor: 10 });
  const enough = async (count: number) => {
    const fromMs = traffic.now();
    await until("requests", () => traffic.since(fromMs).length >= count);
  };
  await enough(600);
  const before = counts();
  await enough(1000);
  const during = counts().map((count, i) => count - (before[i] as number));
  await traffic.stop();
  const share = (during[1] as number) / during.reduce((sum, count) => sum + count);
  figure("one of 4 is 10 times slower", traffic, `${round(share * 100)} % were sent there`);
  assertNothingLost(traffic);
  assert.ok(share < 0.15, `${share} of the requests`);
  await assertSettled(envoy);
});

test("a request that breaks every server it meets meets four of them, and the next is served", async () => {
  const upstreams = await sinks(8);
  const envoy = await gateway(upstreams.map(({ host }) => host));
  const ask = () =>
    post(envoy.port, { model: "m", messages: [{ role: "user", content: "Hello" }] });
  for (const sink of upstreams) sink.reset = true;
  assert.equal((await ask()).status, 503);
  const met = upstreams.filter(({ seen }) => seen.length > 0);
  assert.equal(met.length, 4);
  assert.ok(
    met.every(({ seen }) => seen.length === 1),
    "none of them twice",
  );
  for (const sink of upstreams) sink.reset = false;
  assert.equal((await ask()).status, 200);
});

/**
 * How long until a server is used again, in ms; NaN: not within 8 s. No more than a figure: a server whose first answers were
 * slow, as on a busy machine, is passed over while others are free. That it may be used again tests/filter/health.test.ts shows.
 */
function returned(isBack: () => boolean): Promise<number> {
  return until("its return", isBack, 8000).catch(() => Number.NaN);
}

/** Requests under which a fault lasts: of so many, a server that isn't set aside gets hundreds. */
const STRUCK_REQUESTS = 1000;
const CLIENTS = 32;

/** One of four servers has a fault under load: what became of the traffic. */
async function struck(order: FaultOrder) {
  const fleet = await servers(4);
  const envoy = await shipped(fleet.addresses);
  const traffic = new Traffic(envoy.port, { clients: CLIENTS });
  await wait(800);
  const struckMs = traffic.now();
  await fleet.fault(1, order);
  const host = fleet.addresses[1] as string;
  const first = ({ choice }: Outcome) => choice.startsWith(host);
  await until("somebody whom it meets", () => traffic.since(struckMs).some(first), 60_000);
  const enough = () => traffic.since(struckMs).length >= STRUCK_REQUESTS;
  await until("requests meanwhile", enough, 60_000);
  // What a fault turns away isn't counted by the server: the filter's lists tell.
  const sent = traffic.since(struckMs).filter(first).length;
  await fleet.fault(1, { kind: "clear" });
  const clearedMs = traffic.now();
  const before = traffic.outcomes.filter(
    (outcome) => outcome.host === host && outcome.sentMs < struckMs && outcome.endedMs > struckMs,
  ).length;
  const backMs = await returned(() => served(traffic, [host], clearedMs));
  await traffic.stop();
  await assertSettled(envoy);
  const share = `${sent} of ${traffic.since(struckMs).length} sent there first, back after ${round(backMs)} ms`;
  const most = mostMet({
    clients: CLIENTS,
    goodEnds: before,
    forMs: clearedMs - struckMs,
    ejectMs: EJECT_MS,
  });
  return { traffic, share, sent, most };
}
