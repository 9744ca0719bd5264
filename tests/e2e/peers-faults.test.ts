/** Several gateways on real Envoy whose network fails, or whose internal listener is abused, under load. */
import assert from "node:assert/strict";
import test from "node:test";
import { freePorts } from "../../tools/envoy/ports.ts";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { assertNothingLost, assertSettled, round, servers } from "./faults.ts";
import { gateway, inParallel, send } from "./harness.ts";
import { Link, type LinkFault } from "./link.ts";
import { Traffic } from "./traffic.ts";
import { until } from "./until.ts";

const GATEWAYS = 3;
const LAST = GATEWAYS - 1;
const ALL = Array.from({ length: GATEWAYS }, (_, i) => i);
const fleet = await servers(4);
const internal = await freePorts(GATEWAYS);
/** The way from each gateway to each other one. */
const links = await Promise.all(
  ALL.map((from) =>
    Promise.all(ALL.map((to) => (from === to ? undefined : Link.to(internal[to] as number)))),
  ),
);
const gateways = await Promise.all(
  links.map((out, i) => {
    const hosts = out.flatMap((link) => link?.address ?? []);
    return gateway(
      fleet.addresses,
      { metrics: { source: "hosts" }, peers: { cluster: "warmroute_peers", hosts } },
      { workers: 2, peers: { port: internal[i] as number, hosts } },
    );
  }),
);

async function stat(envoy: EnvoyProcess, name: string, labels = {}): Promise<number> {
  return (await envoy.stats()).sum(`warmroute_${name}`, labels);
}

/** Waits until the gateways hear so many others; how long that took, ms. */
async function hear(expected: number[]): Promise<number> {
  let heard: number[] = [];
  return await until(
    `${expected} others heard`,
    async () => {
      heard = await Promise.all(gateways.map((envoy) => stat(envoy, "peers_heard")));
      return heard.join() === expected.join();
    },
    60_000,
  ).catch((error) => assert.fail(`${(error as Error).message}: ${heard}`));
}

/** Applies a fault to the ways that are meant. */
function strike(fault: LinkFault, isMeant: (from: number, to: number) => boolean): void {
  for (const from of ALL) {
    for (const to of ALL) {
      const link = links[from]?.[to];
      if (link) link.fault = isMeant(from, to) ? fault : { kind: "none" };
    }
  }
}

/** Traffic through all gateways while something is done: none of it is lost. */
async function underLoad(what: (through: Traffic[]) => Promise<void>): Promise<void> {
  const through = gateways.map(({ port }) => new Traffic(port, { clients: 6, pauseMs: 20 }));
  await what(through);
  for (const traffic of through) {
    await traffic.stop();
    assert.ok(traffic.outcomes.length > 10, `${traffic.outcomes.length} requests`);
    assertNothingLost(traffic);
    assert.equal(traffic.broken().length, 0);
  }
  for (const envoy of gateways) await assertSettled(envoy);
}

test("gateways hear each other through links", async () => {
  await hear(ALL.map(() => LAST));
});

const withLast = (from: number, to: number) => from === LAST || to === LAST;

const PARTITIONS: [
  what: string,
  fault: LinkFault,
  (from: number, to: number) => boolean,
  number[],
][] = [
  ["one gateway is cut off", { kind: "cut" }, withLast, [1, 1, 0]],
  ["one gateway's messages vanish both ways", { kind: "silent" }, withLast, [1, 1, 0]],
  ["one gateway can't send", { kind: "silent" }, (from) => from === LAST, [1, 1, 0]],
  ["one gateway can't be reached", { kind: "cut" }, (_from, to) => to === LAST, [1, 1, 0]],
  ["two don't reach each other, a third both", { kind: "cut" }, (f, t) => f + t === 1, [1, 1, 2]],
  ["all is two seconds late", { kind: "late", ms: 2000 }, () => true, [0, 0, 0]],
  ["one gateway is of another version", { kind: "other version" }, withLast, [1, 1, 0]],
];

for (const [what, fault, isMeant, heard] of PARTITIONS) {
  test(`${what}: no request is lost, and it is heard again`, async (t) => {
    await underLoad(async () => {
      strike(fault, isMeant);
      const missedMs = await hear(heard);
      if (fault.kind === "other version") {
        for (const envoy of gateways) {
          assert.ok((await stat(envoy, "peer_messages_dropped_total", { cause: "version" })) > 0);
        }
      }
      strike({ kind: "none" }, () => false);
      const againMs = await hear(ALL.map(() => LAST));
      t.diagnostic(`missed after ${round(missedMs)} ms, heard again after ${round(againMs)} ms`);
    });
  });
}

test("messages repeated, forged and cut by the thousand: no request is lost, memory stays, and others are heard", async () => {
  const [target] = gateways as [EnvoyProcess];
  const carried = links[1]?.[0]?.carried ?? [];
  const dropped = (cause: string) => stat(target, "peer_messages_dropped_total", { cause });
  const tell = (body: Buffer) =>
    send({ port: internal[0] as number, path: "/warmroute/peers", body, timeoutMs: 60_000 });
  let grownFrom = 0;
  await underLoad(async (through) => {
    assert.ok(carried.length > 50, `${carried.length} messages to repeat`);
    const statuses = new Map<number, number>();
    for (const round of [0, 1]) {
      await inParallel(Array.from({ length: 2000 }), 16, async (_none, i) => {
        // A third as it was, a third from gateways that nobody knows, and young enough to be believed, a third cut.
        const isForged = i % 3 === 1;
        const at = isForged ? carried.length - 1 : i % carried.length;
        const body = Buffer.from(carried[at] as Buffer);
        if (isForged) body.writeBigUInt64LE(BigInt(i + 1), 8);
        const { status } = await tell(i % 3 === 2 ? body.subarray(0, body.length - 1) : body);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      });
      if (round === 0) grownFrom = target.residentBytes();
    }
    assert.ok((await dropped("replayed")) > 0 && (await dropped("garbled")) > 0);
    assert.ok((await dropped("crowded")) > 0, "64 gateways at most are remembered");
    assert.deepEqual(
      [...statuses.keys()].filter((status) => ![200, 400, 409, 503].includes(status)),
      [],
    );
    assert.ok(target.residentBytes() < grownFrom + 8 * 2 ** 20, "memory stays");
    await hear(ALL.map(() => LAST));
    const fromMs = through[0]?.now() ?? 0;
    await until("requests afterwards", () => (through[0]?.since(fromMs).length ?? 0) > 20);
  });
});
