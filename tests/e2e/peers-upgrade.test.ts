/** Four gateways go from one version of the filter to the next, and back, under load: real Envoys, and a real other version. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildIfStale } from "../../tools/compile.ts";
import { freePorts } from "../../tools/envoy/ports.ts";
import { type EnvoyProcess, startEnvoy } from "../../tools/envoy/process.ts";
import { WASM } from "../../tools/paths.ts";
import { random, words } from "../../tools/seeded.ts";
import { assertNothingLost, assertSettled, round, servers } from "./faults.ts";
import { ALIKE, configuration, merge, post } from "./harness.ts";
import { WatchedListener } from "./listener.ts";
import { buildNeighbour } from "./neighbour.ts";
import { Traffic } from "./traffic.ts";
import { until } from "./until.ts";

const GATEWAYS = 4;
const ALL = Array.from({ length: GATEWAYS }, (_, i) => i);
/** What a listener that was replaced has for its streams, in seconds: answers take a part of it, on a busy machine too. */
const DRAIN_SECONDS = 8;

const built = buildIfStale();
if (!built.ok) throw new Error(built.message);
type Version = "this" | "next";
const files: Record<Version, string> = { this: WASM, next: buildNeighbour() };

const fleet = await servers(4);
const internal = await freePorts(GATEWAYS);
const peers = internal.map((port) => `127.0.0.1:${port}`);
const versions: Version[] = ALL.map(() => "this");
const listeners: WatchedListener[] = [];
const gateways: EnvoyProcess[] = [];
const traffic: Traffic[] = [];
const past: Traffic[] = [];

/** Starts a gateway of a version, at the ports of the one that it replaces. */
async function start(i: number, version: Version): Promise<void> {
  const listener = new WatchedListener();
  const before = gateways[i];
  versions[i] = version;
  listeners[i] = listener;
  gateways[i] = await startEnvoy({
    hosts: fleet.addresses,
    workers: 2,
    wasm: files[version],
    configuration: configuration(
      fleet.addresses,
      merge(ALIKE, {
        metrics: { source: "hosts" },
        peers: { cluster: "warmroute_peers", hosts: peers },
      }),
    ),
    peers: { port: internal[i] as number, hosts: peers },
    ...(before && { listenerPort: before.port }),
    drainSeconds: DRAIN_SECONDS,
    args: ["--drain-strategy", "immediate"],
    edit: listener.edit,
  });
}

after(() => Promise.all(gateways.map((envoy) => envoy.stop())));
for (const i of ALL) await start(i, "this");

const at = (i: number) => gateways[i] as EnvoyProcess;

async function stat(i: number, name: string, labels = {}): Promise<number> {
  return (await at(i).stats()).sum(`warmroute_${name}`, labels);
}

function begin(i: number): void {
  traffic[i] = new Traffic(at(i).port, { clients: 4, pauseMs: 20 });
}

/** Ends a gateway's traffic: none of it was lost or broken off. */
async function end(i: number): Promise<void> {
  const through = await (traffic[i] as Traffic).stop();
  assertNothingLost(through);
  assert.equal(through.broken().length, 0, `broken off at gateway ${i}`);
  past.push(through);
}

/** Requests of every gateway that were sent from now on. */
async function serve(): Promise<void> {
  const from = traffic.map((through) => through.now());
  await until("requests at each gateway", () =>
    traffic.every((through, i) => through.since(from[i] as number).length >= 10),
  );
}

/** Waits until each gateway hears those of its version and no other. */
async function hear(): Promise<number> {
  let heard: number[] = [];
  const alike = versions.map((own) => versions.filter((version) => version === own).length - 1);
  return await until(`${alike} others heard`, async () => {
    heard = await Promise.all(ALL.map((i) => stat(i, "peers_heard")));
    return heard.join() === alike.join();
  }).catch((error) => assert.fail(`${(error as Error).message}: ${heard}`));
}

/** Waits until gateways have dropped messages of the other version; all are at work, so that there are some. */
async function dropOthers(): Promise<void> {
  if (new Set(versions).size === 1) return;
  const before = await Promise.all(ALL.map(dropped));
  await until("dropped messages", async () =>
    (await Promise.all(ALL.map(dropped))).every((count, i) => count > (before[i] as number)),
  );
}

const dropped = (i: number) => stat(i, "peer_messages_dropped_total", { cause: "version" });

const entries = () => Promise.all(ALL.map((i) => stat(i, "table_entries")));

/** Sends prompts that nobody has seen through one gateway; which gateways' tables grew by it. */
async function growth(through: number, seed: number, expected: number[]): Promise<number[]> {
  const PROMPTS = 20;
  // What was placed before may be on its way still.
  let before = await entries();
  await until("tables at rest", async () => {
    const last = before;
    await sleep(1000);
    before = await entries();
    return before.join() === last.join();
  });
  for (let i = 0; i < PROMPTS; i++) {
    const messages = [{ role: "user", content: words(random(seed + i), 2000) }];
    const answer = await post(at(through).port, { model: "test-model", messages, max_tokens: 2 });
    assert.equal(answer.status, 200);
  }
  const grew = async () => {
    const now = await entries();
    return ALL.filter((i) => (now[i] as number) >= (before[i] as number) + PROMPTS);
  };
  await until(`tables of ${expected}`, async () => (await grew()).join() === expected.join());
  const now = await entries();
  return ALL.filter((i) => now[i] !== before[i]);
}

const TURNS = 9;

/** A conversation that hops between all gateways stays where its first turn went. */
async function assertStays(seed: number): Promise<void> {
  const rand = random(seed);
  const messages: { role: string; content: string }[] = [];
  const hosts: unknown[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    messages.push({ role: "user", content: words(rand, 6000) });
    const body = { model: "test-model", messages, max_tokens: 4 };
    const answer = await post(at(turn % GATEWAYS).port, body);
    assert.equal(answer.status, 200);
    const { choices } = JSON.parse(answer.body.toString());
    messages.push({ role: "assistant", content: choices[0].message.content });
    hosts.push(answer.headers["x-served-by"]);
  }
  const stayed = hosts.slice(1).filter((host, i) => host === hosts[i]).length;
  assert.ok(stayed >= TURNS - 2, `${stayed} of ${TURNS - 1} later turns stayed: ${hosts}`);
}

/** Waits until what a listener's update replaced has ended. */
async function drained(i: number): Promise<void> {
  const none = /total_filter_chains_draining: 0\n[\s\S]*total_listeners_draining: 0\n/;
  await until("the old listeners' end", async () =>
    none.test(await at(i).admin("/stats?filter=total_.*_draining")),
  );
}

test("four gateways are replaced by the next version one by one: none hears the other kind, and none loses a request", async (t) => {
  await hear();
  for (const i of ALL) begin(i);
  await serve();
  for (const i of ALL) {
    // As a deployment does: its traffic goes elsewhere, it ends, another comes in its place.
    await end(i);
    await at(i).stop();
    await start(i, "next");
    begin(i);
    const heardMs = await hear();
    await serve();
    await dropOthers();
    t.diagnostic(`${versions.join(", ")}: heard as they should ${round(heardMs)} ms later`);
    if (i !== 1) continue;
    for (const other of ALL) await end(other);
    assert.deepEqual(await growth(0, 1_000, [0, 1]), [0, 1]);
    assert.deepEqual(await growth(2, 2_000, [2, 3]), [2, 3]);
    assert.deepEqual(await Promise.all(ALL.map((g) => stat(g, "peers_heard"))), [1, 1, 1, 1]);
    for (const other of ALL) begin(other);
  }
  for (const i of ALL) await end(i);
});

test("they go back in place, by a listener's update under load: two versions in one Envoy don't disturb each other", async (t) => {
  for (const i of ALL) begin(i);
  await serve();
  for (const group of [[0], [1, 2, 3]]) {
    for (const i of group) {
      listeners[i]?.replace(new RegExp(files.next, "g"), files.this);
      versions[i] = "this";
    }
    for (const i of group) await (listeners[i] as WatchedListener).taken(at(i));
    await serve();
    if (group.length > 1) await assertStays(11);
    for (const i of group) await drained(i);
    const heardMs = await hear();
    await serve();
    await dropOthers();
    t.diagnostic(`${versions.join(", ")}: heard as they should ${round(heardMs)} ms later`);
  }
  for (const i of ALL) await end(i);
  const requests = past.reduce((sum, { outcomes }) => sum + outcomes.length, 0);
  assert.deepEqual(await growth(3, 3_000, ALL), ALL);
  await assertStays(7);
  const settledMs: number[] = [];
  for (const i of ALL) settledMs.push(await assertSettled(at(i)));
  t.diagnostic(
    `${requests} requests, none lost or broken off; in-flight zero after ${settledMs.map(round)} ms`,
  );
});
