import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import test, { after } from "node:test";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { COMPOSE_LOADER, findChecker, missing } from "../../tools/checkers/programs.ts";
import { findPrometheus, MISSING, Prometheus } from "../../tools/dashboard/prometheus.ts";
import { DEFAULT_VERSION } from "../../tools/envoy/find.ts";
import { freePorts } from "../../tools/envoy/ports.ts";
import { ROOT } from "../../tools/paths.ts";
import { tethered } from "../../tools/tether.ts";
import { gateway } from "../e2e/harness.ts";

const FOLDER = join(ROOT, "examples", "compose");
const FILE = join(FOLDER, "compose.yaml");

interface Service {
  image: string;
  command?: string[];
  volumes?: string[];
  build?: { context: string; dockerfile: string; target: string };
  healthcheck?: { test: string[] };
  environment?: Record<string, string>;
}

const read = (path: string) => readFileSync(join(FOLDER, path), "utf8");
const compose = parse(read("compose.yaml"), { merge: true }) as {
  services: Record<string, Service>;
};
const { services } = compose;
const service = (name: string): Service => {
  const found = services[name];
  assert.ok(found, `no service ${name}`);
  return found;
};
const LLM = Object.keys(services).filter((name) => name.startsWith("llm-"));

test("the file is a Compose file", () => {
  const path = join(ROOT, "tests", "fixtures", "schemas", "compose-spec.json");
  const { $schema: _draft7, ...schema } = JSON.parse(readFileSync(path, "utf8"));
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile(schema);
  assert.ok(
    validate(parse(read("compose.yaml"), { merge: true })),
    ajv.errorsText(validate.errors),
  );
  assert.ok(!validate({ services: { envoy: { imag: "x" } } }));
});

/** Every Compose that is here: Docker's plugin, Debian's program, and the loader that both newer ones read files with. */
const COMPOSES = [["docker", "compose"], ["docker-compose"]]
  .filter(([command = "", ...args]) => spawnSync(command, [...args, "version"]).status === 0)
  .map((command) => ({ command, args: ["-f", FILE, "config"] }));
const loader = findChecker(COMPOSE_LOADER);
if (loader !== undefined) COMPOSES.push({ command: [loader], args: [FILE] });

test("Docker Compose takes it", {
  skip: COMPOSES.length === 0 && `no Docker Compose, ${missing(COMPOSE_LOADER)}`,
}, () => {
  for (const { command, args } of COMPOSES) {
    const [program = "", ...before] = command;
    const result = spawnSync(program, [...before, ...args], { cwd: FOLDER, encoding: "utf8" });
    assert.equal(result.status, 0, `${command.join(" ")}: ${result.stderr}`);
    const read = parse(result.stdout) as typeof compose;
    assert.deepEqual(Object.keys(read.services).sort(), Object.keys(services).sort());
    assert.equal(read.services.envoy?.command?.at(0), "envoy");
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

/** Starts a service's own command in the project's folder, with some arguments exchanged. */
function run(name: string, exchanged: Record<string, string>): ChildProcess {
  const command = [...(service(name).command ?? [])];
  for (const [option, value] of Object.entries(exchanged)) {
    const at = command.indexOf(option);
    assert.ok(at >= 0, `${name} has no ${option}`);
    command[at + 1] = value;
  }
  const [program = "", ...args] = tethered(command);
  const child = spawn(program, args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  after(() => child.kill("SIGTERM"));
  return child;
}

async function until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not within 20 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("outside containers: the services' commands, Envoy's bootstrap, Prometheus' configuration", async (t) => {
  const ports = await freePorts(LLM.length);
  const hosts = ports.map((port) => `127.0.0.1:${port}`);
  const servers = LLM.map((name, i) =>
    run(name, { "--host": "127.0.0.1", "--port": `${ports[i]}` }),
  );
  for (const [i, name] of LLM.entries()) {
    const [kind, program = "", ...args] = service(name).healthcheck?.test ?? [];
    assert.equal(kind, "CMD");
    const own = args.map((arg) => arg.replace(":8000", `:${ports[i]}`));
    await until(`${name} is healthy`, () => spawnSync(program, own).status === 0);
  }
  // As envoy/envoy.yaml ships: no hosts and no metrics in the plugin's configuration but the default.
  const configuration = { hosts: [], debug_headers: false, metrics: { source: "hosts" } };
  const shipped = { ...configuration, discovery: { source: "envoy_admin" } };
  const envoy = await gateway(hosts, shipped, { workers: 2, hosts });
  const traffic = run("traffic", { "--url": `http://127.0.0.1:${envoy.port}` });
  await until("all servers have answered", async () => {
    const stats = await envoy.stats();
    const served = stats.sum("warmroute_decisions_total", { reason: "prefix" });
    return served > 20 && stats.find("warmroute_in_flight").length === LLM.length;
  });
  assert.equal((await envoy.stats()).sum("warmroute_internal_errors_total"), 0);
  await t.test("Prometheus", { skip: !findPrometheus("prometheus") && MISSING }, async () => {
    const file = parse(read("prometheus.yaml"));
    const targets: Record<string, string> = { "127.0.0.1:9901": `127.0.0.1:${envoy.adminPort}` };
    LLM.forEach((name, i) => {
      targets[`${name}:8000`] = hosts[i] ?? "";
    });
    for (const { static_configs } of file.scrape_configs) {
      const [group] = static_configs;
      group.targets = group.targets.map((target: string) => {
        assert.ok(targets[target], `${target} is no service`);
        return targets[target];
      });
    }
    file.global.scrape_interval = "1s";
    file.rule_files = [join(ROOT, "monitoring", "prometheus", "alerts.yaml")];
    const prometheus = await Prometheus.start(findPrometheus("prometheus") ?? "", file);
    after(() => prometheus.stop());
    await until("Prometheus sees all", async () => {
      const up = await prometheus.now("sum(up)");
      return up[0]?.value === LLM.length + 1;
    });
    const [decisions] = await prometheus.now("sum(warmroute_decisions_total)");
    assert.ok((decisions?.value ?? 0) > 0);
  });
  for (const child of [traffic, ...servers]) assert.equal(child.exitCode, null);
});
