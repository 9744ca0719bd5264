import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildIfStale } from "../../tools/compile.ts";
import { freePorts } from "../../tools/envoy/ports.ts";
import { type EnvoyProcess, startEnvoy } from "../../tools/envoy/process.ts";
import { random, words } from "../../tools/seeded.ts";
import { type Fleet, startServers } from "../llm/fleet.ts";
import { configuration, inParallel, post, send } from "./harness.ts";

const GATEWAYS = 4;
const WORKERS = 2;
let servers: Fleet;
let peerPorts: number[] = [];
let gateways: EnvoyProcess[] = [];

/** A gateway among others, each with a listener of its own for the others. */
function start(index: number, listenerPort?: number): Promise<EnvoyProcess> {
  const peers = peerPorts.map((port) => `127.0.0.1:${port}`);
  return startEnvoy({
    hosts: servers.addresses,
    workers: WORKERS,
    configuration: configuration(servers.addresses, {
      metrics: { source: "hosts" },
      // The servers are as fast as the defaults say.
      cost: { learn: false },
      peers: { cluster: "warmroute_peers", hosts: peers },
    }),
    peers: { port: peerPorts[index] as number, hosts: peers },
    ...(listenerPort === undefined ? {} : { listenerPort }),
  });
}

before(async () => {
  const built = buildIfStale();
  if (!built.ok) throw new Error(built.message);
  servers = await startServers(4, { chunkTokens: 8 });
  peerPorts = await freePorts(GATEWAYS);
  // All of them have started, or failed to, before the first failure is told: what has started is stopped.
  const started = await Promise.allSettled(peerPorts.map((_, index) => start(index)));
  gateways = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  for (const each of started) if (each.status === "rejected") throw each.reason;
});

after(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await servers.stop();
});

async function stat(gateway: EnvoyProcess, name: string): Promise<number> {
  return (await gateway.stats()).sum(`warmroute_${name}`);
}

/** Waits until a gateway hears so many others; returns how long that took, ms. */
async function hears(gateway: EnvoyProcess, count: number, withinMs = 60_000): Promise<number> {
  const from = performance.now();
  for (;;) {
    const heard = await stat(gateway, "peers_heard");
    const ms = performance.now() - from;
    if (heard === count) return ms;
    assert.ok(ms < withinMs, `hears ${heard} gateways after ${ms} ms, expected ${count}`);
    await sleep(30);
  }
}

interface Message {
  role: "user" | "assistant";
  content: string;
}

/** A conversation, and where each of its turns was served. */
class Talk {
  readonly served: string[] = [];
  private readonly messages: Message[] = [];
  private readonly rand: () => number;

  constructor(seed: number) {
    this.rand = random(seed);
  }

  async turn(gateway: EnvoyProcess): Promise<void> {
    this.messages.push({ role: "user", content: words(this.rand, 600) });
    const body = { model: "test-model", messages: this.messages, max_tokens: 4 };
    const answer = await post(gateway.port, body);
    assert.equal(answer.status, 200, answer.body.toString());
    const text = JSON.parse(answer.body.toString()).choices[0].message.content as string;
    this.messages.push({ role: "assistant", content: text });
    this.served.push(String(answer.headers["x-served-by"]));
  }
}

/** Share of later turns on the server of the turn before. */
function kept(talks: Talk[]): number {
  const later = talks.flatMap(({ served }) => served.slice(1).map((host, i) => host === served[i]));
  return later.filter(Boolean).length / later.length;
}

test("gateways find each other, and themselves among the members", async () => {
  for (const gateway of gateways) {
    await hears(gateway, GATEWAYS - 1);
    assert.equal(await stat(gateway, "peers"), GATEWAYS - 1);
  }
});

test("conversations that hop between gateways stay with their cache", async (t) => {
  const talks = Array.from({ length: 60 }, (_, i) => new Talk(1000 + i));
  const from = performance.now();
  const before = await totals();
  for (let turn = 0; turn < 5; turn++) {
    await inParallel(talks, 4, (talk, i) => talk.turn(at(turn + i)));
  }
  const seconds = (performance.now() - from) / 1000;
  const told = await totals();
  const share = kept(talks);
  const counts = servers.addresses.map(
    (host) => talks.filter(({ served: [first] }) => first === host).length,
  );
  t.diagnostic(`${(100 * share).toFixed(1)} % of later turns stay; first turns ${counts}`);
  const per = (name: "messages" | "bytes") => ((told[name] - before[name]) / seconds).toFixed(0);
  t.diagnostic(
    `${(300 / seconds).toFixed(0)} requests/s: ${per("messages")} messages/s, ${per("bytes")} bytes/s, all ${GATEWAYS} gateways together`,
  );
  assert.ok(share >= 0.98, `${share}`);
  assert.ok(Math.max(...counts) < 30, `${counts}`);
});

function at(index: number): EnvoyProcess {
  return gateways[index % GATEWAYS] as EnvoyProcess;
}

async function totals(): Promise<{ messages: number; bytes: number; failed: number }> {
  const sums = { messages: 0, bytes: 0, failed: 0 };
  for (const gateway of gateways) {
    const stats = await gateway.stats();
    sums.messages += stats.sum("warmroute_peer_messages_sent_total");
    sums.bytes += stats.sum("warmroute_peer_bytes_sent_total");
    sums.failed += stats.sum("warmroute_peer_messages_failed_total");
  }
  return sums;
}

/** Requests through some gateways, one after the other, until told to stop; how each ended. */
function traffic(through: readonly number[]): { stop(): Promise<number[]> } {
  let isOver = false;
  const statuses: number[] = [];
  const streams = through.map(async (index, stream) => {
    for (let i = 0; !isOver; i++) {
      const content = words(random(5_000_000 + 10_000 * stream + i), 400);
      const messages = [{ role: "user", content }];
      const body = { model: "test-model", messages, max_tokens: 2 };
      const answer = await post(at(index).port, body).catch(() => ({ status: 0 }));
      statuses.push(answer.status);
    }
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(streams);
      return statuses;
    },
  };
}

test("one gateway is killed, and comes back knowing what the others know", async (t) => {
  const load = traffic([0, 1, 2]);
  const port = at(3).port;
  at(3).kill();
  const goneMs = await hears(at(0), GATEWAYS - 2);
  await sleep(500);
  gateways[3] = await start(3, port);
  const backMs = await hears(at(0), GATEWAYS - 1);
  await hears(at(3), GATEWAYS - 1);
  const known = await stat(at(0), "table_entries");
  const from = performance.now();
  let copied = 0;
  while (copied < 0.95 * known && performance.now() - from < 60_000) {
    copied = await stat(at(3), "table_entries");
    await sleep(30);
  }
  const copiedMs = performance.now() - from;
  const statuses = await load.stop();
  t.diagnostic(
    `missed after ${goneMs.toFixed(0)} ms, heard again ${backMs.toFixed(0)} ms after its start; ${copied} of ${known} locations there ${copiedMs.toFixed(0)} ms later; ${statuses.length} requests meanwhile`,
  );
  assert.ok(statuses.length > 50);
  assert.ok(
    statuses.every((status) => status === 200),
    `${statuses.filter((s) => s !== 200)}`,
  );
  assert.ok(copied >= 0.95 * known, `${copied} of ${known}`);
});

test("one gateway stands still, and goes on", async (t) => {
  const load = traffic([0, 1, 2]);
  process.kill(at(3).pid, "SIGSTOP");
  let goneMs = 0;
  try {
    goneMs = await hears(at(0), GATEWAYS - 2);
    await sleep(1000);
  } finally {
    process.kill(at(3).pid, "SIGCONT");
  }
  const backMs = await hears(at(0), GATEWAYS - 1);
  await hears(at(3), GATEWAYS - 1);
  const statuses = await load.stop();
  t.diagnostic(
    `missed after ${goneMs.toFixed(0)} ms, heard again after ${backMs.toFixed(0)} ms; ${statuses.length} requests meanwhile`,
  );
  assert.ok(
    statuses.every((status) => status === 200),
    `${statuses.filter((s) => s !== 200)}`,
  );
  const talk = new Talk(77);
  for (let turn = 0; turn < 8; turn++) await talk.turn(at(turn));
  assert.ok(kept([talk]) >= 0.8, `${talk.served}`);
});

test("nothing but whole messages counts, and only on the internal listener", async () => {
  const gateway = at(0);
  const internal = peerPorts[0] as number;
  const dropped = async (cause: string) =>
    (await gateway.stats()).sum("warmroute_peer_messages_dropped_total", { cause });
  const cases: [body: Buffer, status: number, cause: string][] = [
    [Buffer.from("not a message"), 400, "garbled"],
    [Buffer.alloc(40), 400, "garbled"],
    [Buffer.concat([Buffer.from("WRP\u0063"), Buffer.alloc(36, 1)]), 400, "version"],
  ];
  for (const [body, status, cause] of cases) {
    const before = await dropped(cause);
    const answer = await send({ port: internal, path: "/warmroute/peers", body });
    assert.equal(answer.status, status);
    assert.match(answer.body.toString(), /^expected /);
    assert.equal(await dropped(cause), before + 1);
  }
  const large = await send({ port: internal, path: "/warmroute/peers", body: Buffer.alloc(3e6) });
  assert.equal(large.status, 413);
  for (const path of ["/", "/v1/chat/completions", "/warmroute/peers"]) {
    assert.equal((await send({ port: internal, path })).status, 404, path);
  }
  assert.equal((await post(internal, { model: "m", messages: [] })).status, 404);
  // On the public listener it is a path like any other, and goes to a server.
  const garbled = await dropped("garbled");
  const answer = await send({ port: gateway.port, path: "/warmroute/peers", body: "WRP" });
  assert.equal(answer.status, 200);
  assert.notEqual(answer.headers["x-served-by"], undefined);
  assert.equal(await dropped("garbled"), garbled);
  assert.equal(await stat(gateway, "internal_errors_total"), 0);
});
