/** Envoy itself changes under load: its hosts by DNS, its listener, the whole process. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { type EnvoyOptions, type EnvoyProcess, startEnvoy } from "../../tools/envoy/process.ts";
import { LlmServer } from "../llm/server.ts";
import { startNameServer } from "./dns.ts";
import {
  assertNothingLost,
  assertSettled,
  figure,
  listed,
  round,
  served,
  servers,
  shipped,
  until,
  wait,
} from "./faults.ts";
import { configuration } from "./harness.ts";
import { WatchedListener } from "./listener.ts";
import { Traffic } from "./traffic.ts";

test("a name that gets other addresses: hosts come and go without a lost request", async () => {
  const ips = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
  const port = await freeOn(ips);
  const fleet = await Promise.all(
    ips.map(async (host) => {
      const server = new LlmServer({ host, port, timeScale: 4, headersAt: "first_token" });
      await server.listen();
      after(() => server.stop());
      return server;
    }),
  );
  const hosts = fleet.map(({ address }) => address);
  const names = await startNameServer(ips.slice(0, 2));
  const envoy = await shipped(
    [`llm.test:${port}`],
    {},
    { edit: (yaml) => resolvedBy(yaml, names.port) },
  );
  await until("two hosts", async () => (await listed(envoy)).length === 2);
  const traffic = new Traffic(envoy.port, { clients: 24 });
  await wait(500);
  // One leaves, which serves on what it has; another joins.
  names.addresses = [ips[1] as string, ips[2] as string];
  const changedMs = traffic.now();
  const joinedMs = await until("the new host", () =>
    served(traffic, [hosts[2] as string], changedMs),
  );
  const leftMs = await until(
    "the old host's leave",
    async () => !(await listed(envoy)).includes(hosts[0] as string),
  );
  // The name server is away: what is known stays.
  names.silent = true;
  await wait(1500);
  assert.equal((await listed(envoy)).length, 2);
  await traffic.stop();
  figure(
    "DNS changed",
    traffic,
    `the new host served after ${round(joinedMs)} ms, the old one was out of the lists ${round(leftMs)} ms later`,
  );
  assertNothingLost(traffic);
  assert.equal(traffic.broken().length, 0);
  await assertSettled(envoy);
});

/** A port that is free on several loopback addresses. */
async function freeOn(ips: string[]): Promise<number> {
  const probe = new LlmServer({ host: ips[0] as string });
  await probe.listen();
  const { port } = probe;
  await probe.stop();
  return port;
}

/** The cluster's names are asked for at a port on loopback, four times a second. */
function resolvedBy(yaml: string, port: number): string {
  return yaml.replace(
    "      type: STRICT_DNS\n",
    `      type: STRICT_DNS
      dns_refresh_rate: 0.25s
      dns_lookup_family: V4_ONLY
      typed_dns_resolver_config:
        name: envoy.network.dns_resolver.cares
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig
          resolvers: [{ socket_address: { address: 127.0.0.1, port_value: ${port} } }]
`,
  );
}

test("a listener update while answers stream: none is lost or cut", async () => {
  const fleet = await servers(3);
  const listener = new WatchedListener();
  const envoy = await shipped(
    fleet.addresses,
    {},
    // As the notes on operation say: what streams has its time to end, what is new goes to the new listener at once.
    { drainSeconds: 30, args: ["--drain-strategy", "immediate"], edit: listener.edit },
  );
  const traffic = new Traffic(envoy.port, { clients: 24, tokens: 60 });
  for (const weight of [0.3, 0.25, 0.2]) {
    await wait(600);
    listener.replace(
      /"stale_after_ms":1500/,
      `"stale_after_ms":1500},"cost":{"others_wait_weight":${weight}`,
    );
  }
  await listener.taken(envoy);
  const takenMs = traffic.now();
  await until("requests afterwards", () => traffic.since(takenMs).length >= 50);
  await traffic.stop();
  figure("listener updated 3 times", traffic, "");
  assertNothingLost(traffic);
  assert.equal(traffic.broken().length, 0);
  await assertSettled(envoy);
});

test("a hot restart while answers stream: none is lost or cut, and the new process learns anew", async () => {
  const fleet = await servers(3);
  const baseId = 20_000 + (process.pid % 10_000);
  const hosts = fleet.addresses;
  const options: EnvoyOptions = {
    hosts,
    configuration: configuration(hosts),
    workers: 2,
    // The old process ends after this; answers take a part of it, on a busy machine too.
    drainSeconds: 8,
    args: ["--drain-strategy", "immediate"],
  };
  const first = await start({ ...options, hotRestart: { baseId, epoch: 0 } });
  const traffic = new Traffic(first.port, { clients: 24, tokens: 60 });
  await wait(800);
  const restartMs = traffic.now();
  const second = await start({
    ...options,
    listenerPort: first.port,
    adminPort: first.adminPort,
    hotRestart: { baseId, epoch: 1 },
  });
  // Both have the same admin port: which of them answers?
  const generation = () => second.admin("/stats?filter=hot_restart_generation").catch(() => "");
  await until("the second one's admin", async () => (await generation()).includes("generation: 2"));
  const readyMs = traffic.now() - restartMs;
  await until("the first one's end", () => !first.alive);
  await wait(500);
  await traffic.stop();
  figure("hot restart", traffic, `the old process had handed all over after ${round(readyMs)} ms`);
  assertNothingLost(traffic);
  assert.equal(traffic.broken().length, 0);
  assert.ok((await second.stats()).sum("warmroute_decisions_total") > 0);
  await assertSettled(second);
});

async function start(options: EnvoyOptions): Promise<EnvoyProcess> {
  const envoy = await startEnvoy(options);
  after(() => envoy.stop());
  return envoy;
}
