import assert from "node:assert/strict";
import test, { after } from "node:test";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { type Fleet, startServers } from "../llm/fleet.ts";
import { ALIKE, type Answer, type Configuration, gateway, post, send } from "./harness.ts";
import { known, STATUS } from "./known.ts";
import { settled, sum } from "./settled.ts";
import { until, wait } from "./until.ts";

/** One sequence runs at a time in each server, for 200 ms or so; two that wait are too many. */
async function busyServers(
  count: number,
  admission: Configuration,
  workers = 4,
): Promise<{ fleet: Fleet; envoy: EnvoyProcess }> {
  const fleet = await startServers(count, { timeScale: 1, engine: { maxRunning: 1 } });
  after(() => fleet.stop());
  const metrics = { source: "hosts", interval_ms: 100, timeout_ms: 90, stale_after_ms: 2000 };
  const envoy = await gateway(
    fleet.addresses,
    { ...ALIKE, metrics, admission: { max_waiting: 2, ...admission }, status: STATUS },
    { workers },
  );
  await known(envoy, "reports", (hosts) => hosts.every(({ waiting }) => waiting === 0));
  return { fleet, envoy };
}

let serial = 0;

function question(tokens = 25): Record<string, unknown> {
  const text = `Question ${serial++ * 7919}`;
  return { model: "test-model", messages: [{ role: "user", content: text }], max_tokens: tokens };
}

/** How much slower servers are that are to stay busy: a token then takes most of a second. */
const STANDSTILL = 100;

const slow = (fleet: Fleet, factor: number) =>
  Promise.all(fleet.servers.map((_, i) => fleet.fault(i, { kind: "slow", factor })));

/** Keeps the servers busy until they are no longer slow, and waits until all workers know. */
async function occupy(
  envoy: EnvoyProcess,
  fleet: Fleet,
  count: number,
  tokens: number,
): Promise<Promise<Answer>[]> {
  await slow(fleet, STANDSTILL);
  const open: Promise<Answer>[] = [];
  for (let i = 0; i < count; i++) {
    open.push(post(envoy.port, question(tokens), { timeoutMs: 120_000 }));
  }
  await known(envoy, "full servers", (hosts) => hosts.every(({ waiting }) => Number(waiting) >= 2));
  return open;
}

test("4 workers: what has no room is held and served, unread bodies too, bytes as they came", async () => {
  const { fleet, envoy } = await busyServers(2, {});
  const open = await occupy(envoy, fleet, 8, 50);
  const large = { ...question(), messages: [{ role: "user", content: "word ".repeat(30_000) }] };
  const later = [
    ...Array.from({ length: 12 }, () => post(envoy.port, question())),
    post(envoy.port, large),
    post(envoy.port, question(), { headers: { "content-type": "application/octet-stream" } }),
  ];
  await until("all of them", async () => (await sum(envoy, "warmroute_queue_length")) === 14);
  await wait(100);
  await slow(fleet, 1);
  for (const answer of await Promise.all([...open, ...later])) {
    assert.equal(answer.status, 200, answer.body.toString());
  }
  const queued = await Promise.all(later);
  assert.ok(queued.some(({ headers }) => Number(headers["x-warmroute-queued-ms"]) > 100));
  const prompt = (JSON.parse(`${queued[12]?.body}`) as { usage: { prompt_tokens: number } }).usage;
  assert.ok(prompt.prompt_tokens > 20_000, "the whole body arrived");
  assert.equal(
    fleet.stats().reduce((total, { requests }) => total + requests, 0),
    22,
  );
  await settled(envoy);
});

test("a full queue answers 429 as documented; high priorities take the place of low ones", async () => {
  const { fleet, envoy } = await busyServers(1, { queue_limit: 2 }, 1);
  const open = await occupy(envoy, fleet, 5, 50);
  const low = Array.from({ length: 8 }, () =>
    post(envoy.port, question(), { headers: { "x-warmroute-priority": "low" } }),
  );
  const rejected = () => sum(envoy, "warmroute_rejected_total");
  await until("a full queue", async () => (await rejected()) === 6);
  const high = post(envoy.port, question(), { headers: { "x-warmroute-priority": "high" } });
  await until("its place", async () => (await rejected()) === 7);
  await slow(fleet, 1);
  const answers = await Promise.all(low);
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(refused.length, 7);
  for (const { headers, body } of refused) {
    assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
    assert.equal(headers["x-warmroute-reason"], "queue_full");
    assert.equal((JSON.parse(`${body}`) as { error: { code: string } }).error.code, "queue_full");
  }
  assert.equal((await high).status, 200);
  for (const answer of await Promise.all(open)) assert.equal(answer.status, 200);
  const lines = JSON.stringify(await envoy.accessLog(14));
  assert.match(lines, /warmroute_queue_full/);
  await settled(envoy);
});

test("time-outs, deadlines, leavers and resets leave nothing behind", async () => {
  const { fleet, envoy } = await busyServers(1, { queue_timeout_ms: 600 });
  const open = await occupy(envoy, fleet, 5, 50);
  const timedOut = post(envoy.port, question());
  const late = post(envoy.port, question(), { headers: { "x-request-timeout-ms": "200" } });
  const gone = Array.from({ length: 4 }, () =>
    send({
      port: envoy.port,
      body: JSON.stringify(question()),
      headers: { "content-type": "application/json" },
      timeoutMs: 150,
    }).catch(() => null),
  );
  const deadline = await late;
  assert.equal(deadline.status, 429);
  assert.equal(deadline.headers["x-warmroute-reason"], "deadline");
  const timeout = await timedOut;
  assert.equal(timeout.status, 429);
  assert.equal(timeout.headers["x-warmroute-reason"], "queue_timeout");
  assert.ok(Number(timeout.headers["x-warmroute-queued-ms"]) >= 600);
  await Promise.all(gone);
  await fleet.servers[0]?.kill();
  await Promise.allSettled(open);
  await settled(envoy);
});
