import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { parse } from "yaml";
import { freePorts } from "../../tools/envoy/ports.ts";
import { endpoints } from "../../tools/envoy/render.ts";
import { ROOT, WASM } from "../../tools/paths.ts";
import { gateway } from "../e2e/harness.ts";
import { startServers } from "../llm/fleet.ts";
import type { Json } from "./istio/patch.ts";
import { checkStatistics, discovered, talk } from "./traffic.ts";

/** The version nearest to the one that Envoy Gateway 1.9 ships, 1.39.1. */
const ENVOY_VERSION = "1.39.3";

const fixture = (name: string) =>
  JSON.parse(readFileSync(join(ROOT, "tests", "fixtures", "envoy-gateway", name), "utf8"));

interface Made {
  manifest_sha256: string;
  Listener: Json[];
  Cluster: Json[];
  RouteConfiguration: Json[];
}

/** What Envoy Gateway makes of the manifest: see tests/fixtures/envoy-gateway/README.md. */
const made = fixture("gateway.json") as Made;

const manager = (listener: Json): Json => {
  const { filters } = listener.default_filter_chain as { filters: { typed_config: Json }[] };
  const [first] = filters;
  assert.ok(first);
  return first.typed_config;
};

test("the fixture was made of the manifest as it is", () => {
  const text = readFileSync(join(ROOT, "examples", "envoy-gateway", "warmroute.yaml"), "utf8");
  const lines = text.split("\n").filter((line) => !line.trimStart().startsWith("#"));
  const digest = createHash("sha256").update(lines.join("\n")).digest("hex");
  assert.equal(made.manifest_sha256, digest, "see tests/fixtures/envoy-gateway/README.md");
});

test("what the policies have no field for got in by the patches", () => {
  const [listener, routes] = [made.Listener[0], made.RouteConfiguration[0]];
  assert.ok(listener && routes);
  const filters = manager(listener).http_filters as { typed_config: { config?: Json } }[];
  const wasm = filters.find(({ typed_config }) => typed_config.config?.name === "warmroute");
  assert.equal(wasm?.typed_config.config?.allow_on_headers_stop_iteration, true);
  const [host] = routes.virtual_hosts as { routes: Json[] }[];
  assert.equal(host?.routes[0]?.request_body_buffer_limit, "2228224");
});

test("labels and buckets are those of envoy/envoy.yaml", () => {
  const shipped = parse(readFileSync(join(ROOT, "envoy", "envoy.yaml"), "utf8")).stats_config;
  const { stats_tags, histogram_bucket_settings } = fixture("bootstrap.json").stats_config;
  assert.deepEqual(stats_tags.slice(-shipped.stats_tags.length), shipped.stats_tags);
  assert.deepEqual(histogram_bucket_settings, shipped.histogram_bucket_settings);
});

test("what Envoy Gateway makes of the manifest routes by cache on a real Envoy", async () => {
  const fleet = await startServers(3, { timeScale: 20 });
  after(() => fleet.stop());
  const [listenerPort = 0, adminPort = 0, statsPort = 0] = await freePorts(3);
  const bootstrap = bootstrapOf(fleet.addresses, { listenerPort, adminPort, statsPort });
  const envoy = await gateway(
    [],
    {},
    {
      version: ENVOY_VERSION,
      listenerPort,
      adminPort,
      edit: () => bootstrap,
    },
  );
  await discovered(envoy, 3);
  await talk([envoy]);
  await checkStatistics(envoy, fleet.addresses);
  // Where Prometheus scrapes Envoy Gateway's proxies.
  const scraped = await fetch(`http://127.0.0.1:${statsPort}/stats/prometheus`);
  assert.match(await scraped.text(), /^warmroute_decisions_total\{reason="prefix"\} \d/m);
});

/** Envoy Gateway's own bootstrap, with what it would send by xDS in place. */
function bootstrapOf(
  hosts: string[],
  ports: { listenerPort: number; adminPort: number; statsPort: number },
): string {
  const bootstrap = fixture("bootstrap.json");
  const {
    Listener: listeners,
    Cluster: clusters,
    RouteConfiguration: routes,
  } = structuredClone(made);
  for (const cluster of clusters) {
    delete cluster.eds_cluster_config;
    cluster.type = "STATIC";
    const assignment = {
      cluster_name: cluster.name,
      endpoints: [{ lb_endpoints: endpoints(hosts) }],
    };
    cluster.load_assignment = assignment;
  }
  for (const listener of listeners) {
    listener.address = socketAddress(ports.listenerPort);
    const connections = manager(listener);
    delete connections.rds;
    delete connections.access_log;
    delete listener.access_log;
    connections.route_config = routes[0];
    for (const { typed_config } of connections.http_filters as { typed_config: Json }[]) {
      const { vm_config } = (typed_config.config ?? {}) as { vm_config?: Json };
      // Envoy Gateway serves the module that it pulled; here it is a file.
      if (vm_config !== undefined) vm_config.code = { local: { filename: WASM } };
    }
  }
  const shipped = bootstrap.static_resources;
  for (const listener of shipped.listeners) listener.address = socketAddress(ports.statsPort);
  const admin = (shipped.clusters as Json[]).find(({ name }) => name === "prometheus_stats");
  assert.ok(admin);
  const toAdmin = endpoints([`127.0.0.1:${ports.adminPort}`]);
  admin.load_assignment = { cluster_name: admin.name, endpoints: [{ lb_endpoints: toAdmin }] };
  const { stats_config, deferredStatOptions, layered_runtime } = bootstrap;
  return JSON.stringify({
    node: { id: "proxy", cluster: "proxy" },
    admin: { address: socketAddress(ports.adminPort) },
    ...{ stats_config, deferredStatOptions, layered_runtime },
    static_resources: {
      listeners: [...listeners, ...shipped.listeners],
      clusters: [...clusters, admin],
    },
  });
}

function socketAddress(port: number): Json {
  return { socket_address: { address: "127.0.0.1", port_value: port } };
}
