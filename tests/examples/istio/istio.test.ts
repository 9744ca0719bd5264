import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import { freePorts } from "../../../tools/envoy/ports.ts";
import type { EnvoyProcess } from "../../../tools/envoy/process.ts";
import { ROOT } from "../../../tools/paths.ts";
import { gateway } from "../../e2e/harness.ts";
import { startServers } from "../../llm/fleet.ts";
import { checkExchange, checkStatistics, discovered, heard, talk } from "../traffic.ts";
import { applyPatches, type EnvoyFilter, type Json, type ProxyConfig } from "./patch.ts";
import { bootstrapOf } from "./proxy.ts";

const VLLM = "outbound|8000||vllm.llm.svc.cluster.local";
const PROMETHEUS = "outbound|9090||prometheus.monitoring.svc.cluster.local";

const folder = mkdtempSync(join(tmpdir(), "warmroute-istio-"));
after(() => rmSync(folder, { recursive: true }));

const example = (name: string) => readFileSync(join(ROOT, "examples", "istio", name), "utf8");

/** What istiod sends to a proxy, made by Istio's own code: see tests/fixtures/istio/README.md. */
function sent(name: string): ProxyConfig {
  const file = join(ROOT, "tests", "fixtures", "istio", `${name}.json`);
  return JSON.parse(readFileSync(file, "utf8"));
}

function envoyFilter(name: string): EnvoyFilter {
  const found = parseAllDocuments(example(name))
    .map((document) => document.toJS() as EnvoyFilter)
    .find(({ kind }) => kind === "EnvoyFilter");
  assert.ok(found);
  return found;
}

const patched = (proxy: string, context: string) =>
  applyPatches(sent(proxy), envoyFilter(`${proxy}.yaml`), context);

/** Protobuf JSON has 64-bit numbers as strings, and no order of fields. */
const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return value;
  const sorted = Object.entries(value as Json).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, inner]) => [key, canonical(inner)]));
};

test("the patches change what Istio's own code changes with them", () => {
  assert.deepEqual(canonical(patched("gateway", "GATEWAY")), canonical(sent("gateway.patched")));
  const sidecar = patched("sidecar", "SIDECAR_OUTBOUND");
  assert.deepEqual(canonical(sidecar), canonical(sent("sidecar.patched")));
  assert.throws(
    () => applyPatches(sent("sidecar"), envoyFilter("gateway.yaml"), "SIDECAR_OUTBOUND"),
    /changes nothing/,
  );
});

test("labels and buckets are those of envoy/envoy.yaml", () => {
  const shipped = parse(readFileSync(join(ROOT, "envoy", "envoy.yaml"), "utf8"));
  const { data } = parse(example("bootstrap.yaml"));
  assert.deepEqual(JSON.parse(data["custom_bootstrap.json"]), {
    stats_config: shipped.stats_config,
  });
});

/** Envoy as the proxy, with Istio's custom bootstrap merged in as the agent does it. */
async function proxy(
  config: ProxyConfig,
  members: Record<string, string[]>,
  peerPort = 0,
): Promise<EnvoyProcess> {
  const [listenerPort = 0, adminPort = 0] = await freePorts(2);
  const extensionsFolder = mkdtempSync(join(folder, "extensions-"));
  const ports = { listenerPort, adminPort, peerPort };
  const bootstrap = bootstrapOf(config, { ...ports, members, extensionsFolder });
  const { data } = parse(example("bootstrap.yaml"));
  return await gateway(
    [],
    {},
    {
      listenerPort,
      adminPort,
      edit: () => bootstrap,
      args: ["--config-yaml", data["custom_bootstrap.json"]],
    },
  );
}

test("gateway: filter by ECDS, servers found and scraped, conversations kept", async () => {
  const fleet = await startServers(3, { timeScale: 20 });
  after(() => fleet.stop());
  const envoy = await proxy(patched("gateway", "GATEWAY"), { [VLLM]: fleet.addresses });
  await discovered(envoy, 3);
  await talk([envoy]);
  await checkStatistics(envoy, fleet.addresses);
});

test("gateway, two replicas: they find each other by the service, conversations hop and stay", async () => {
  const fleet = await startServers(3, { timeScale: 20 });
  after(() => fleet.stop());
  const peerPorts = await freePorts(2);
  const members = {
    [VLLM]: fleet.addresses,
    warmroute_peers: peerPorts.map((port) => `127.0.0.1:${port}`),
  };
  const config = patched("gateway", "GATEWAY");
  const replicas = await Promise.all(peerPorts.map((port) => proxy(config, members, port)));
  for (const replica of replicas) await discovered(replica, 3);
  await heard(replicas);
  await talk(replicas);
  await checkExchange(replicas);
});

test("the service and the policy are about the listener's port and the gateway's pods", () => {
  const all = parseAllDocuments(example("gateway.yaml")).map((document) => document.toJS());
  const [service] = all.filter(({ kind }) => kind === "Service");
  const [policy] = all.filter(({ kind }) => kind === "NetworkPolicy");
  const { clusters, listeners } = patched("gateway", "GATEWAY");
  const port = ({ address }: Json) =>
    (address as { socket_address: { port_value: number } }).socket_address.port_value;
  const peerPort = port(listeners.find(({ name }) => name === "warmroute_peers") ?? {});
  const { name, namespace } = service.metadata;
  const cluster = JSON.stringify(clusters.find(({ name }) => name === "warmroute_peers"));
  assert.ok(cluster.includes(`"${name}.${namespace}.svc.cluster.local","port_value":${peerPort}`));
  assert.equal(service.spec.ports[0].port, peerPort);
  const { labels } = envoyFilter("gateway.yaml").spec.workloadSelector;
  assert.deepEqual(service.spec.selector, labels);
  assert.deepEqual(policy.spec.podSelector.matchLabels, labels);
  const [replicas, anyone] = policy.spec.ingress;
  assert.deepEqual(replicas.from, [{ podSelector: { matchLabels: labels } }]);
  assert.deepEqual(replicas.ports, [{ port: peerPort }]);
  const open = (wanted: number) =>
    anyone.ports.some(
      ({ port, endPort, protocol }: { port: number; endPort: number; protocol?: string }) =>
        protocol === undefined && port <= wanted && wanted <= endPort,
    );
  assert.ok(!open(peerPort) && open(peerPort - 1) && open(peerPort + 1) && open(8080));
});

test("sidecar: filter from a file, load from the cluster's Prometheus", async () => {
  const fleet = await startServers(3, { timeScale: 20 });
  after(() => fleet.stop());
  const asked: URL[] = [];
  const prometheus = createServer((request, response) => {
    asked.push(new URL(request.url ?? "", "http://prometheus"));
    const value = [Date.now() / 1000, "0"];
    const result = fleet.addresses.flatMap((instance) =>
      ["vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"].map(
        (name) => ({ metric: { __name__: name, instance }, value }),
      ),
    );
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ status: "success", data: { resultType: "vector", result } }));
  });
  await new Promise<void>((resolve) => prometheus.listen(0, "127.0.0.1", resolve));
  after(() => prometheus.close());
  const { port } = prometheus.address() as AddressInfo;
  const members = { [VLLM]: fleet.addresses, [PROMETHEUS]: [`127.0.0.1:${port}`] };
  const envoy = await proxy(patched("sidecar", "SIDECAR_OUTBOUND"), members);
  await discovered(envoy, 3);
  await talk([envoy], { host: "vllm.llm" });
  await checkStatistics(envoy, fleet.addresses);
  const [first] = asked;
  assert.equal(first?.pathname, "/api/v1/query");
  assert.match(
    first?.searchParams.get("query") ?? "",
    /^\{__name__=~"vllm:\(num_requests_running\|.*\)"\}$/,
  );
});
