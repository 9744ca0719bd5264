import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import test from "node:test";
import { parse } from "yaml";
import { findPrometheus, MISSING } from "../../../tools/dashboard/prometheus.ts";
import { freePorts } from "../../../tools/envoy/ports.ts";
import type { EnvoyProcess } from "../../../tools/envoy/process.ts";
import { ROOT } from "../../../tools/paths.ts";
import { gateway } from "../../e2e/harness.ts";
import { until } from "../../e2e/until.ts";
import { checkExchange, discovered, heard, talk } from "../traffic.ts";
import { composed, FOLDER, isComposeFile, NO_COMPOSE, read, run, servicesOf } from "./files.ts";
import { startServers } from "./servers.ts";
import { watching } from "./watching.ts";

const services = servicesOf("compose.two.yaml");
const service = (name: string) => services[name] ?? assert.fail(`no service ${name}`);
const GATEWAYS = ["envoy", "envoy-2"];
const STATISTICS_PORT = 9903;

/** What the image's build writes: the bootstrap of either gateway. */
const program = "tools/envoy/peers.ts";
const bootstrap = parse(
  execFileSync(process.execPath, ["tools/run.mjs", program], { cwd: ROOT, encoding: "utf8" }),
).static_resources;

interface Listener {
  name: string;
  address: { socket_address: { address: string; port_value: number } };
  filter_chains: { filters: { typed_config: { http_filters: HttpFilter[] } }[] }[];
}

interface HttpFilter {
  name: string;
  typed_config: { config: { configuration: { value: string } } };
}

/** What the filter on a listener is configured with. */
function configurationOf(listener: string, listeners: Listener[] = bootstrap.listeners): object {
  const found = listeners.find(({ name }) => name === listener);
  const filters = found?.filter_chains[0]?.filters[0]?.typed_config.http_filters ?? [];
  const filter = filters.find(({ name }) => name === "warmroute");
  return JSON.parse(filter?.typed_config.config.configuration.value ?? "");
}

test("laid over compose.yaml it adds a gateway", { skip: NO_COMPOSE }, () => {
  assert.equal(isComposeFile(parse(read("compose.two.yaml"), { merge: true })), "");
  for (const merged of composed("compose.yaml", "compose.two.yaml")) {
    const names = [...Object.keys(servicesOf("compose.yaml")), "envoy-2"];
    assert.deepEqual(Object.keys(merged).sort(), names.sort());
    for (const name of GATEWAYS) {
      assert.equal(merged[name]?.build?.target, "gateway");
      assert.ok(merged[name]?.command?.includes("--config-yaml"));
    }
    assert.ok(merged.traffic?.command?.includes("http://envoy-2:8080"));
  }
});

test("the gateways find each other by a name, on a port that the host doesn't have", () => {
  const listeners = bootstrap.listeners as Listener[];
  const peers = listeners.find(({ name }) => name === "warmroute_peers")?.address.socket_address;
  const cluster = bootstrap.clusters.find(({ name }: Listener) => name === "warmroute_peers");
  const [{ lb_endpoints }] = cluster.load_assignment.endpoints;
  const [{ endpoint }] = lb_endpoints;
  const { address, port_value } = endpoint.address.socket_address;
  assert.equal(lb_endpoints.length, 1);
  assert.equal(port_value, peers?.port_value);
  for (const name of GATEWAYS) {
    assert.ok(service(name).networks?.default?.aliases.includes(address), name);
    const { ports = [] } = { ...servicesOf("compose.yaml")[name], ...service(name) };
    for (const port of ports) {
      const [, , inside] = port.split(":");
      assert.ok(![peers?.port_value, STATISTICS_PORT].includes(Number(inside)), port);
    }
  }
  const dockerfile = read("Dockerfile");
  assert.ok(dockerfile.includes(`node tools/run.mjs ${program} > build/gateways.yaml`));
  assert.ok(dockerfile.includes("/warmroute/build/gateways.yaml /etc/envoy/envoy.yaml"));
  for (const volume of service("prometheus").volumes ?? []) {
    assert.ok(existsSync(resolve(FOLDER, volume.split(":")[0] ?? "")), volume);
  }
});

test("the configuration is envoy/envoy.yaml's with peers", () => {
  const shipped = parse(readFileSync(join(ROOT, "envoy", "envoy.yaml"), "utf8"));
  assert.deepEqual(configurationOf("llm"), {
    ...configurationOf("llm", shipped.static_resources.listeners),
    peers: { cluster: "warmroute_peers" },
  });
  assert.deepEqual(configurationOf("warmroute_peers"), { peers: { serve: true } });
});

test("outside containers: conversations hop between the two and stay; Prometheus sees both", async (t) => {
  const { hosts, addresses, processes } = await startServers();
  const peerPorts = await freePorts(GATEWAYS.length);
  const peers = peerPorts.map((port) => `127.0.0.1:${port}`);
  const statistics = await freePorts(GATEWAYS.length);
  const gateways = await Promise.all(
    GATEWAYS.map((name, i) => start(name, hosts, peers, peerPorts[i] ?? 0, statistics[i] ?? 0)),
  );
  for (const envoy of gateways) await discovered(envoy, hosts.length);
  await heard(gateways);
  await talk(gateways);
  await checkExchange(gateways);

  const [first, second] = gateways.map(({ port }) => `http://127.0.0.1:${port}`);
  const exchanged = { "http://envoy:8080": first ?? "", "http://envoy-2:8080": second ?? "" };
  const before = await Promise.all(gateways.map(warm));
  const traffic = run(service("traffic"), exchanged);
  for (const [i, envoy] of gateways.entries()) {
    await until(
      "the traffic to reach both",
      async () => (await warm(envoy)) > (before[i] ?? 0) + 5,
    );
  }
  await t.test("Prometheus", { skip: !findPrometheus("prometheus") && MISSING }, async () => {
    const targets = GATEWAYS.map((name, i) => [
      `${name}:${STATISTICS_PORT}`,
      `127.0.0.1:${statistics[i]}`,
    ]);
    const all = { ...Object.fromEntries(targets), ...addresses };
    const prometheus = await watching("prometheus.two.yaml", all);
    await until("both to be heard", async () => {
      const [hearing] = await prometheus.now("sum(warmroute_peers_heard)");
      return hearing?.value === GATEWAYS.length;
    });
  });
  const admin = await fetch(`http://127.0.0.1:${statistics[0]}/clusters`);
  assert.equal(admin.status, 404, "the statistics' listener shows more than statistics");
  for (const child of [traffic, ...processes]) assert.equal(child.exitCode, null);
});

const warm = async (envoy: EnvoyProcess) =>
  (await envoy.stats()).sum("warmroute_decisions_total", { reason: "prefix" });

/** A gateway on the image's configuration, with what its service's command adds. */
function start(
  name: string,
  hosts: string[],
  peers: string[],
  peerPort: number,
  statisticsPort: number,
): Promise<EnvoyProcess> {
  const { command = [] } = service(name);
  const added = command[command.indexOf("--config-yaml") + 1] ?? "";
  const here = added
    .replace("address: 0.0.0.0", "address: 127.0.0.1")
    .replace(`port_value: ${STATISTICS_PORT}`, `port_value: ${statisticsPort}`);
  assert.ok(here.includes(`127.0.0.1, port_value: ${statisticsPort}`));
  const configuration = { hosts: [], debug_headers: false, metrics: { source: "hosts" } };
  return gateway(
    hosts,
    { ...configuration, ...configurationOf("llm") },
    {
      workers: 2,
      peers: { port: peerPort, hosts: peers },
      args: ["--config-yaml", here],
    },
  );
}
