import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import test from "node:test";
import { parse } from "yaml";
import { findPrometheus, MISSING } from "../../../tools/dashboard/prometheus.ts";
import { DEFAULT_VERSION } from "../../../tools/envoy/find.ts";
import { ROOT } from "../../../tools/paths.ts";
import { gateway } from "../../e2e/harness.ts";
import { until } from "../../e2e/until.ts";
import { composed, FOLDER, isComposeFile, NO_COMPOSE, read, run, servicesOf } from "./files.ts";
import { startServers } from "./servers.ts";
import { watching } from "./watching.ts";

const services = servicesOf("compose.yaml");
const service = (name: string) => services[name] ?? assert.fail(`no service ${name}`);
const LLM = Object.keys(services).filter((name) => name.startsWith("llm-"));

test("the file is a Compose file", () => {
  assert.equal(isComposeFile(parse(read("compose.yaml"), { merge: true })), "");
  assert.notEqual(isComposeFile({ services: { envoy: { imag: "x" } } }), "");
});

test("Docker Compose takes it", { skip: NO_COMPOSE }, () => {
  for (const merged of composed("compose.yaml")) {
    assert.deepEqual(Object.keys(merged).sort(), Object.keys(services).sort());
    assert.equal(merged.envoy?.command?.at(0), "envoy");
  }
});

test("what is mounted and copied is there, and where the services look for it", () => {
  for (const [name, { volumes = [] }] of Object.entries(services)) {
    for (const volume of volumes) {
      const [source = ""] = volume.split(":");
      assert.ok(existsSync(resolve(FOLDER, source)), `${name}: ${source}`);
    }
  }
  const { build } = service("envoy");
  assert.equal(resolve(FOLDER, build?.context ?? ""), ROOT);
  assert.equal(join(ROOT, build?.dockerfile ?? ""), join(FOLDER, "Dockerfile"));
  const dockerfile = read("Dockerfile");
  for (const [, sources = ""] of dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
    for (const source of sources.split(" ")) assert.ok(existsSync(join(ROOT, source)), source);
  }
  const envoy = readFileSync(join(ROOT, "envoy", "envoy.yaml"), "utf8");
  const wasm = /filename: (\S+)/.exec(envoy)?.[1] ?? "";
  assert.ok(dockerfile.includes(`/warmroute/build/warmroute.wasm ${wasm}`), wasm);
  assert.ok(dockerfile.includes(`FROM envoyproxy/envoy:v${DEFAULT_VERSION} AS envoy`));
  // Envoy finds the servers by the services' names, on the port that their command names.
  const members = [...envoy.matchAll(/address: (llm-\d), port_value: (\d+)/g)];
  assert.deepEqual(
    members.map(([, name]) => name),
    LLM,
  );
  for (const [, name = "", port] of members) {
    const { command = [] } = service(name);
    assert.equal(command[command.indexOf("--port") + 1], port);
  }
});

test("Grafana is told where data and dashboard are", () => {
  const { volumes = [], environment = {} } = service("grafana");
  const targets = new Map(volumes.map((volume) => volume.split(":") as [string, string]));
  const provider = parse(read("grafana/dashboards.yaml")).providers[0];
  assert.equal(provider.options.path, targets.get("../../monitoring/grafana"));
  const home = environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH ?? "";
  assert.equal(dirname(home), provider.options.path);
  assert.ok(existsSync(join(ROOT, "monitoring", "grafana", home.split("/").at(-1) ?? "")));
  const source = parse(read("grafana/datasource.yaml")).datasources[0];
  const { hostname, port } = new URL(source.url);
  // Prometheus is reached at the service whose network it shares.
  assert.ok(hostname in services);
  assert.equal(port, "9090");
  assert.equal(source.type, "prometheus");
});

test("outside containers: the services' commands, Envoy's bootstrap, Prometheus' configuration", async (t) => {
  const { hosts, addresses, processes } = await startServers();
  // As envoy/envoy.yaml ships: no hosts and no metrics in the plugin's configuration but the default.
  const configuration = { hosts: [], debug_headers: false, metrics: { source: "hosts" } };
  const shipped = { ...configuration, discovery: { source: "envoy_admin" } };
  const envoy = await gateway(hosts, shipped, { workers: 2, hosts });
  const traffic = run(service("traffic"), {
    "http://envoy:8080": `http://127.0.0.1:${envoy.port}`,
  });
  await until("all servers have answered", async () => {
    const stats = await envoy.stats();
    const served = stats.sum("warmroute_decisions_total", { reason: "prefix" });
    return served > 20 && stats.find("warmroute_in_flight").length === LLM.length;
  });
  assert.equal((await envoy.stats()).sum("warmroute_internal_errors_total"), 0);
  await t.test("Prometheus", { skip: !findPrometheus("prometheus") && MISSING }, async () => {
    const targets = { "127.0.0.1:9901": `127.0.0.1:${envoy.adminPort}` };
    const prometheus = await watching("prometheus.yaml", { ...targets, ...addresses });
    const [decisions] = await prometheus.now("sum(warmroute_decisions_total)");
    assert.ok((decisions?.value ?? 0) > 0);
  });
  for (const child of [traffic, ...processes]) assert.equal(child.exitCode, null);
});
