import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import test, { after } from "node:test";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { type Fleet, startServers } from "../llm/fleet.ts";
import type { LlmServerOptions } from "../llm/server.ts";
import { type Configuration, gateway, inParallel, post } from "./harness.ts";

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function servers(count: number, options: Partial<LlmServerOptions> = {}): Promise<Fleet> {
  const fleet = await startServers(count, { timeScale: 20, ...options });
  after(() => fleet.stop());
  return fleet;
}

let serial = 0;

function question(text = `Question ${serial++ * 7919}`): object {
  return { model: "test-model", messages: [{ role: "user", content: text }], max_tokens: 8 };
}

async function ask(
  envoy: EnvoyProcess,
  body: object = question(),
): Promise<Record<string, string>> {
  const answer = await post(envoy.port, body);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.headers as Record<string, string>;
}

const choiceOf = (headers: Record<string, string>) =>
  (headers["x-warmroute-choice"] ?? "").split(",");

/** Waits until a condition holds, 12 s at most. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < 12_000; waitedMs += 100) {
    if (await holds()) return;
    await wait(100);
  }
  assert.fail(`in vain for ${what}`);
}

/** Health checks that notice at once. */
const quickChecks = (yaml: string) => yaml.replace(/interval: 5s/g, "interval: 0.3s");

/** Puts the listener into a file that Envoy watches, so that it can be changed while it runs. */
function watched(yaml: string): { bootstrap: string; listener: string } {
  const from = yaml.indexOf("  listeners:\n");
  const to = yaml.indexOf("  clusters:\n");
  const type = '- "@type": type.googleapis.com/envoy.config.listener.v3.Listener\n  name: llm\n';
  const listener = yaml
    .slice(from + "  listeners:\n".length, to)
    .replace(/^ {4}/gm, "")
    .replace("- name: llm\n", type);
  return { bootstrap: yaml.slice(0, from) + yaml.slice(to), listener: `resources:\n${listener}` };
}

test("8 workers scrape each server once a second, and go on when the polling VM is replaced (BC-38)", async () => {
  const fleet = await servers(4);
  let path = "";
  let listener = "";
  const envoy = await gateway(
    fleet.addresses,
    { metrics: { source: "hosts", interval_ms: 1000, stale_after_ms: 5000 } },
    {
      workers: 8,
      edit: (yaml) => {
        const parts = watched(yaml);
        listener = parts.listener;
        const folder = /path: "?(.*?)\/access\.log/.exec(yaml)?.[1] ?? "";
        path = join(folder, "lds.yaml");
        writeFileSync(path, listener);
        const source = `dynamic_resources:\n  lds_config:\n    resource_api_version: V3\n    path_config_source: { path: ${path} }\n`;
        return source + parts.bootstrap;
      },
    },
  );
  await until(
    "the listener",
    async () => (await post(envoy.port, question()).catch(() => null))?.status === 200,
  );
  const before = fleet.stats().map(({ scrapes }) => scrapes);
  const started = Date.now();
  await wait(12_000);
  const minutes = (Date.now() - started) / 60_000;
  fleet.stats().forEach(({ scrapes }, i) => {
    const rate = (scrapes - (before[i] as number)) / minutes;
    assert.ok(rate >= 50 && rate <= 130, `server ${i}: ${rate} scrapes a minute`);
  });
  // Another VM configuration: all VMs are replaced, the one that polls too.
  const type = "type.googleapis.com/google.protobuf.StringValue";
  const changed = listener.replace(
    /^( *)runtime: .*$/m,
    `$&\n$1configuration: { "@type": ${type}, value: again }`,
  );
  assert.notEqual(changed, listener);
  writeFileSync(`${path}.new`, changed);
  renameSync(`${path}.new`, path);
  let last = Date.now();
  let seen = fleet.stats()[0]?.scrapes ?? 0;
  let longest = 0;
  let more = 0;
  while (Date.now() - started < 12_000 + 14_000) {
    await wait(50);
    const now = fleet.stats()[0]?.scrapes ?? 0;
    if (now > seen) {
      more += now - seen;
      longest = Math.max(longest, Date.now() - last);
      last = Date.now();
      seen = now;
    }
  }
  longest = Math.max(longest, Date.now() - last);
  assert.ok(longest < 5000, `no scrape for ${longest} ms`);
  assert.ok(more >= 7 && more <= 30, `${more} scrapes in 14 s`);
  assert.match(await envoy.admin("/stats?filter=lds.update_success"), /update_success: 2/);
  await ask(envoy);
});

test("eight requests between two reports don't herd, whatever the workers (BC-22)", async () => {
  const metrics = { source: "hosts", interval_ms: 5000, stale_after_ms: 60_000 };
  for (const [workers, most] of [
    [1, 5],
    [4, 6],
  ] as const) {
    const fleet = await servers(2, { timeScale: 1 });
    const envoy = await gateway(fleet.addresses, { metrics }, { workers });
    await wait(1000);
    const before = fleet.stats().map(({ requests }) => requests);
    const bodies = Array.from({ length: 8 }, () => ({ ...question(), max_tokens: 100 }));
    await Promise.all(
      bodies.map(async (body, i) => {
        await wait(i * 25);
        await ask(envoy, body);
      }),
    );
    const counts = fleet.stats().map(({ requests }, i) => requests - (before[i] as number));
    assert.ok(Math.max(...counts) <= most, `${counts} by ${workers} workers`);
  }
});

test("an unknown metrics cluster is told once and hurts nobody (BC-38)", async () => {
  const fleet = await servers(2);
  const metrics = { source: "hosts", cluster: "nowhere", interval_ms: 100 };
  const envoy = await gateway(fleet.addresses, { metrics }, { workers: 4 });
  await wait(1500);
  for (let i = 0; i < 10; i++) await ask(envoy);
  const stats = await envoy.stats();
  assert.ok(stats.sum("warmroute_scrape_failures_total") > 0);
  assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
  assert.equal(envoy.log().match(/metrics\.cluster/g)?.length, 1);
});

test("a server that answers HTML, garbage or nothing on its metrics page serves on", async () => {
  const fleet = await servers(3);
  await fleet.fault(0, { kind: "html", scope: "metrics" });
  await fleet.fault(1, { kind: "garbage", scope: "metrics" });
  await fleet.fault(2, { kind: "hang", scope: "metrics" });
  const metrics = { source: "hosts", interval_ms: 200, timeout_ms: 150, stale_after_ms: 1000 };
  const envoy = await gateway(fleet.addresses, { metrics });
  await wait(1500);
  for (let i = 0; i < 20; i++) await ask(envoy);
  const stats = await envoy.stats();
  assert.equal(stats.sum("warmroute_stale_hosts"), 3);
  assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
});

test("a killed server leaves the lists, returns, and has nothing cached then", async () => {
  const fleet = await servers(3);
  const configuration: Configuration = {
    hosts: [],
    discovery: { source: "envoy_admin", interval_ms: 200 },
    metrics: { source: "hosts", interval_ms: 200, timeout_ms: 150, stale_after_ms: 2000 },
  };
  const envoy = await gateway(fleet.addresses, configuration, { edit: quickChecks });
  const listed = async () => choiceOf(await ask(envoy)).length;
  await until("three hosts", async () => (await listed()) === 3);
  const long = question("The tide tables of every harbour on this coast. ".repeat(120));
  const home = (await ask(envoy, long))["x-warmroute-host"] as string;
  const warm = await ask(envoy, long);
  assert.equal(warm["x-warmroute-host"], home);
  assert.ok(Number(warm["x-warmroute-cached-tokens"]) > 500);
  // Starts that are closer together than this count as one.
  await wait(2100);
  const index = fleet.addresses.indexOf(home);
  await fleet.servers[index]?.kill();
  await until("its leave", async () => (await listed()) === 2);
  for (let i = 0; i < 20; i++) assert.ok(!choiceOf(await ask(envoy)).includes(home));
  await fleet.servers[index]?.revive();
  await until("its return", async () => (await listed()) === 3);
  await wait(1500);
  const again = await ask(envoy, long);
  if (again["x-warmroute-host"] === home) assert.equal(again["x-warmroute-cached-tokens"], "0");
});

test("a restart between two scrapes voids what was cached", async () => {
  const fleet = await servers(1);
  const metrics = { source: "hosts", interval_ms: 200, timeout_ms: 150, stale_after_ms: 2000 };
  const envoy = await gateway(fleet.addresses, { metrics });
  const long = question("The tide tables of every harbour on this coast. ".repeat(120));
  await wait(600);
  await ask(envoy, long);
  assert.ok(Number((await ask(envoy, long))["x-warmroute-cached-tokens"]) > 500);
  await wait(500);
  await fleet.servers[0]?.kill();
  await wait(2500);
  await fleet.servers[0]?.revive();
  await wait(2500);
  assert.equal((await ask(envoy, long))["x-warmroute-cached-tokens"], "0");
});

/** An HTTP server on a free port, that ends with the test. */
async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  return (server.address() as AddressInfo).port;
}

for (const [what, signals] of [
  ["running and waiting requests", ["vllm:num_requests_running", "vllm:num_requests_waiting"]],
  ["the queue alone", ["vllm:num_requests_waiting"]],
  ["the GPU alone", ["DCGM_FI_DEV_GPU_UTIL"]],
] as const) {
  test(`one endpoint that reports all servers: hosts from its labels, load from ${what}`, async () => {
    const fleet = await servers(3);
    const loaded = fleet.addresses[0] as string;
    const port = await serve((request, response) => {
      assert.match(request.url ?? "", /^\/federate\?match/);
      const lines = signals.flatMap((name) =>
        fleet.addresses.map((host) => {
          const value = host === loaded ? 90 : 0;
          return `${name}{instance="${host}",pod="p"} ${value} ${Date.now()}`;
        }),
      );
      response.end(`# TYPE ${signals[0]} untyped\n${lines.join("\n")}\n`);
    });
    const cluster = `
    - name: prometheus
      type: STATIC
      connect_timeout: 1s
      load_assignment:
        cluster_name: prometheus
        endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }] }]
`;
    const metrics = { source: "endpoint", cluster: "prometheus", path: "/federate?match[]=up" };
    const envoy = await gateway(
      fleet.addresses,
      { hosts: [], metrics: { ...metrics, interval_ms: 300, stale_after_ms: 5000 } },
      { workers: 2, edit: (yaml) => yaml + cluster },
    );
    await until("three hosts", async () => choiceOf(await ask(envoy)).length === 3);
    const before = fleet.stats()[0]?.requests ?? 0;
    for (let i = 0; i < 30; i++) assert.notEqual(choiceOf(await ask(envoy))[0], loaded);
    assert.equal(fleet.stats()[0]?.requests, before);
    assert.equal(fleet.stats()[0]?.scrapes, 0, "servers themselves aren't asked");
  });
}

test("load reports that answers carry steer, though nothing is scraped", async () => {
  const ports = await Promise.all(
    [30, 0].map((waiting) =>
      serve((request, response) => {
        request.resume();
        request.on("end", () => {
          const report = `TEXT named_metrics.num_requests_waiting=${waiting}`;
          response.setHeader("endpoint-load-metrics", report);
          response.end("{}");
        });
      }),
    ),
  );
  const [loaded, idle] = ports.map((port) => `127.0.0.1:${port}`) as [string, string];
  const envoy = await gateway([loaded, idle], { metrics: { source: "none" } });
  const targets: (string | undefined)[] = [];
  for (let i = 0; i < 40; i++) targets.push((await ask(envoy))["x-warmroute-host"]);
  const late = targets.slice(15);
  assert.ok(targets.includes(loaded), "it was tried");
  assert.ok(late.filter((host) => host === loaded).length <= 1, late.join(" "));
});

for (const [what, order] of [
  ["fails fast", { kind: "status", status: 503 }],
  ["breaks off its answers", { kind: "reset_mid_stream", afterTokens: 2 }],
] as const) {
  test(`a server that ${what} is set aside, and comes back when it is well`, async () => {
    const fleet = await servers(4);
    const metrics = { source: "hosts", interval_ms: 500 };
    const health = { failures: 3, eject_ms: 1500 };
    const envoy = await gateway(fleet.addresses, { metrics, health }, { workers: 2 });
    await wait(800);
    await fleet.fault(1, order);
    const bad = fleet.addresses[1] as string;
    let struck = 0;
    await inParallel(Array.from({ length: 100 }), 8, async () => {
      const body = { ...question(), stream: true };
      const answer = await post(envoy.port, body, {
        // The answer may break off, but its headers have come.
        onHeaders: (headers) => {
          if (choiceOf(headers as Record<string, string>)[0] === bad) struck++;
        },
      }).catch(() => null);
      if (answer) assert.equal(answer.status, 200);
    });
    assert.ok(struck >= 3 && struck <= 15, `${struck} of 100 were sent there`);
    await fleet.fault(1, { kind: "clear" });
    let served = 0;
    await until("its return", async () => {
      // Several at a time, so that each server is worth being chosen.
      await inParallel(Array.from({ length: 24 }), 8, async () => {
        if ((await ask(envoy))["x-warmroute-host"] === bad) served++;
      });
      return served > 0;
    });
  });
}

test("a slower server is learned to be slower", async () => {
  const fleet = await servers(3, { timeScale: 4 });
  await fleet.fault(0, { kind: "slow", factor: 4 });
  const metrics = { source: "hosts", interval_ms: 300 };
  const envoy = await gateway(fleet.addresses, { metrics }, { workers: 2 });
  const run = (count: number) =>
    inParallel(Array.from({ length: count }), 4, async () => {
      const text = `${serial++} ${"waves and wind ".repeat(80)}`;
      const { status } = await post(envoy.port, {
        ...question(text),
        max_tokens: 30,
        stream: true,
      });
      assert.equal(status, 200);
    });
  await run(60);
  const before = fleet.stats().map(({ requests }) => requests);
  await run(90);
  const share = ((fleet.stats()[0]?.requests ?? 0) - (before[0] ?? 0)) / 90;
  assert.ok(share <= 0.25, `the slow one got ${share} of the requests`);
});
