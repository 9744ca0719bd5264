/** Load on real Envoy: reports from servers, endpoints and answers, own requests between them, failures and speeds. */
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import test, { after } from "node:test";
import { mostMet } from "./faults.ts";
import { ALIKE, gateway, inParallel, post } from "./harness.ts";
import { ask, choiceOf, question, quickServers as servers } from "./questions.ts";
import { until, wait } from "./until.ts";

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
    const bodies = Array.from({ length: 8 }, () => ({ ...question(), max_tokens: 250 }));
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
    let reports = 0;
    const port = await serve((request, response) => {
      assert.match(request.url ?? "", /^\/federate\?match/);
      const lines = signals.flatMap((name) =>
        fleet.addresses.map((host) => {
          const value = host === loaded ? 90 : 0;
          return `${name}{instance="${host}",pod="p"} ${value} ${Date.now()}`;
        }),
      );
      reports++;
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
      { ...ALIKE, hosts: [], metrics: { ...metrics, interval_ms: 300, stale_after_ms: 5000 } },
      { workers: 2, edit: (yaml) => yaml + cluster },
    );
    // Asked for again: the first report was read.
    await until("reports", () => reports > 1);
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
    const ejectMs = 1500;
    const health = { failures: 3, eject_ms: ejectMs };
    const envoy = await gateway(fleet.addresses, { ...ALIKE, metrics, health }, { workers: 2 });
    await wait(800);
    await fleet.fault(1, order);
    const bad = fleet.addresses[1] as string;
    let struck = 0;
    const from = performance.now();
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
    const forMs = performance.now() - from;
    const most = mostMet({ clients: 8, goodEnds: 0, forMs, ejectMs });
    assert.ok(struck >= 3 && struck <= most, `${struck} of 100 sent there, ${most} need be`);
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
  let serial = 0;
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
