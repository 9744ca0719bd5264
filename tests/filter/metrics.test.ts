import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ManualClock } from "../host/clock.ts";
import { chat, Gateway, hostNames, tally } from "./gateway.ts";
import { recordOf, slotOf } from "./records.ts";
import { endpoint, type Load, scraping, spread, vllm } from "./scraped.ts";

const page = (name: string, folder = "cases") =>
  readFileSync(new URL(`../fixtures/${folder}/${name}`, import.meta.url), "utf8");

test("a federate answer: newest sample of a host, old ones are old, foreign hosts ignored (BC-32)", () => {
  const hosts = ["10.0.0.11:8000", "10.0.0.12:8000"] as const;
  const gateway = endpoint([...hosts], (call) => call.respond(200, page("BC-32.txt")), {
    clock: new ManualClock(1_790_000_298_500),
  });
  assert.equal(slotOf(gateway, "10.0.0.99:8000"), -1);
  const fresh = recordOf(gateway, hosts[1]);
  assert.deepEqual([fresh.running, fresh.waiting], [9, 1]);
  assert.equal(fresh.sampleMs, 1_790_000_295_000);
  assert.equal(recordOf(gateway, hosts[0]).sampleMs, 1_790_000_060_000);
  assert.equal(gateway.stat("stale_hosts"), 1);
  // The old report of an idle server doesn't draw everything.
  assert.ok((spread(gateway, 40).get(hosts[0]) ?? 0) <= 8);
  const paths = gateway.host.calls.map((call) => call.headers.get(":path"));
  assert.ok(paths.every((path) => path === "/federate?match[]=vllm"));
});

test("a query answer in JSON, with an ip alone as label", () => {
  const time = 1_790_000_300;
  const sample = (name: string, instance: string, value: string) => ({
    metric: { __name__: name, instance },
    value: [time, value],
  });
  const body = JSON.stringify({
    status: "success",
    data: {
      resultType: "vector",
      result: [
        sample("vllm:num_requests_running", "10.0.0.1:8000", "3"),
        sample("vllm:num_requests_waiting", "10.0.0.1:8000", "2"),
        sample("DCGM_FI_DEV_GPU_UTIL", "10.0.0.1", "40"),
        sample("vllm:num_requests_running", "10.0.0.2", "5"),
        sample("vllm:num_requests_running", "10.0.0.3", "7"),
      ],
    },
  });
  // Two servers at 10.0.0.3: its ip alone names neither.
  const hosts = ["10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000", "10.0.0.3:8001"];
  const gateway = endpoint(hosts, (call) => call.respond(200, body), {
    clock: new ManualClock(time * 1000),
  });
  const [first, second] = hosts.slice(0, 2).map((host) => recordOf(gateway, host));
  assert.deepEqual([first?.running, first?.waiting], [3, 2]);
  assert.ok(Math.abs((first?.gpuUtilization ?? 0) - 0.4) < 1e-6);
  assert.equal(second?.running, 5);
  assert.throws(() => recordOf(gateway, hosts[2] as string), /no record/);
});

test("an endpoint that breaks off keeps what it said, and ages", () => {
  let good = true;
  const gateway = endpoint(hostNames(2), (call) => {
    const lines = hostNames(2).map((host) => `vllm:num_requests_running{instance="${host}"} 4`);
    if (good) call.respond(200, `${lines.join("\n")}\n`);
    else call.timeOut();
  });
  assert.equal(gateway.stat("stale_hosts"), 0);
  good = false;
  gateway.host.advance(20_000);
  assert.equal(gateway.stat("stale_hosts"), 2);
  assert.equal(recordOf(gateway, "10.0.0.1:8000").running, 4);
  assert.equal(gateway.send(chat("hi")).choice.length, 2);
});

test("the engines that are known say what they say (BC-27, BC-28, BC-30, BC-31)", () => {
  for (const [file, running, waiting, kv] of [
    ["BC-27a.txt", 6, 2, 0.42],
    ["BC-27b.txt", 6, 2, 0.42],
    ["BC-27c.txt", 6, 2, 0.42],
    ["BC-28.txt", 12, 5, 0.4],
    ["BC-30.txt", 6, 1, 0.25],
    ["BC-31a.txt", 11, 4, 0.63],
    ["BC-31b.txt", 11, 4, 0.63],
    ["BC-31c.txt", 2, 5, Number.NaN],
    ["BC-31d.txt", 8, 3, Number.NaN],
  ] as const) {
    const got = recordOf(scraping({ "10.0.0.1:8000": page(file) }), "10.0.0.1:8000");
    assert.deepEqual([got.running, got.waiting], [running, waiting], file);
    if (Number.isNaN(kv)) assert.ok(Number.isNaN(got.kvUsage), file);
    else assert.ok(Math.abs(got.kvUsage - kv) < 1e-6, file);
  }
});

test("what a server doesn't report doesn't make it look empty (BC-31)", () => {
  const [mute, ...others] = hostNames(3) as [string, string, string];
  const pages = { [mute]: page("BC-31e.txt") } as Record<string, string>;
  for (const host of others) pages[host] = vllm({ running: 8, waiting: 4 });
  const got = spread(scraping(pages), 60).get(mute) ?? 0;
  assert.ok(got <= 30, `${got} of 60 went to the server that says nothing`);
});

test("the queue alone, the running requests alone, the GPU alone steer away", () => {
  for (const [idle, busy] of [
    [{ waiting: 0 }, { waiting: 6 }],
    [{ running: 1 }, { running: 40 }],
    [{ gpu: 10 }, { gpu: 95 }],
    [{ kv: 0.1 }, { kv: 0.97 }],
  ] as [Load, Load][]) {
    const [first, second] = hostNames(2) as [string, string];
    const got = spread(scraping({ [first]: vllm(busy), [second]: vllm(idle) }));
    const share = (got.get(first) ?? 0) / 40;
    assert.ok(share <= 0.2, `${share} went to the one with ${JSON.stringify(busy)}`);
  }
});

test("servers at rest: what one serves, and how busy it is, counts from its next report on; without one it ages", () => {
  const [first, second] = hostNames(2) as [string, string];
  const serving = (model: string, load: Load) =>
    vllm(load).replaceAll('{engine="0"', `{model_name="${model}",engine="0"`);
  const pages: Record<string, string | undefined> = {};
  const all = (model: string) => {
    pages[first] = serving(model, { running: 0, waiting: 0 });
    pages[second] = pages[first];
  };
  all("m1");
  const gateway = scraping(pages, { stale_after_ms: 2000 });
  let asked = 0;
  const used = () => [...spread(gateway, 40, `${++asked}/`).keys()].sort();
  assert.deepEqual(used(), [first, second], "both are used");

  pages[second] = serving("m2", { running: 0, waiting: 0 });
  gateway.host.advance(1000);
  assert.deepEqual(used(), [first], "only the first serves m1 now");

  all("m1");
  gateway.host.advance(1000);
  assert.deepEqual(used(), [first, second], "both do again");

  pages[second] = serving("m1", { running: 9, waiting: 9, kv: 0.99 });
  gateway.host.advance(1000);
  assert.deepEqual(used(), [first], "the second is full");

  all("m1");
  gateway.host.advance(1000);
  pages[second] = undefined;
  gateway.host.advance(4000);
  assert.deepEqual(used(), [first], "the second has fallen silent");
});

test("a load report on an answer counts at once; shares alone don't make old counts young", () => {
  const [first, second] = hostNames(2) as [string, string];
  const gateway = new Gateway([first, second], {
    config: { metrics: { interval_ms: 5000, stale_after_ms: 20000 } },
  });
  const report = (text: string) => {
    const headers = { "endpoint-load-metrics": text };
    gateway.send(chat(`hi ${text}`)).answer({ host: first, headers });
    return recordOf(gateway, first);
  };
  const now = gateway.clock.ms;
  gateway.send(chat("idle")).answer({
    host: second,
    headers: { "endpoint-load-metrics": "TEXT named_metrics.num_requests_waiting=0" },
  });
  const both = report("TEXT named_metrics.num_requests_waiting=6, application_utilization=0.9");
  assert.equal(both.waiting, 6);
  assert.equal(both.sampleMs, now);
  assert.ok((spread(gateway, 20).get(first) ?? 0) <= 4);
  gateway.host.advance(3000);
  const json = report('JSON {"named_metrics":{"kv_cache_usage_perc":0.5}}');
  assert.equal(json.kvUsage, 0.5);
  assert.ok(json.sampleMs < gateway.clock.ms, "the count of waiting requests is as old as it is");
});

test("reports that stay as they were when all clients left don't mean full for ever: a request at a time shows the truth", () => {
  // As vLLM does it: gauges and counters move with the engine's steps only.
  const stuck = (tokens: number) =>
    `${vllm({ running: 106, waiting: 90, kv: 0.99 })}vllm:generation_tokens_total ${tokens}\n`;
  const [first, second] = hostNames(2) as [string, string];
  const pages: Record<string, string> = { [first]: stuck(5000), [second]: stuck(7000) };
  const gateway = scraping(pages);
  const held = gateway.send(chat("while it may be true"));
  gateway.host.advance(5000);
  assert.equal(held.stream.request.sentEnd, false, "full, as far as is known");
  gateway.host.advance(18_000);
  const target = held.target as string;
  assert.equal(held.stream.request.sentEnd, true, "nothing of ours there, and not a token in 20 s");
  // It turns out that it is free; the other one is still believed to be so for want of proof.
  pages[target] =
    `${vllm({ running: 1, waiting: 0, kv: 0.01 })}vllm:generation_tokens_total 5010\n`;
  gateway.host.advance(1500);
  assert.equal(recordOf(gateway, target).running, 1);
  held.answer();
  // One that works on: full, however long.
  let tokens = 0;
  for (let i = 0; i < 80; i++) {
    pages[first] = stuck(tokens++);
    pages[second] = stuck(tokens++);
    gateway.host.advance(500);
  }
  const later = gateway.send(chat("now it is true"));
  gateway.host.advance(600);
  assert.equal(later.stream.request.sentEnd, false);
  // One that has a request of ours and doesn't get on with it: as it says.
  assert.equal(recordOf(gateway, first).waiting, 90);
});

test("stale_after_ms below two intervals is refused (BC-34)", () => {
  for (const metrics of [
    { interval_ms: 15000, stale_after_ms: 200 },
    { interval_ms: 15000 },
    { interval_ms: 1000, stale_after_ms: 1999 },
  ]) {
    const make = () => new Gateway(hostNames(1), { config: { metrics } });
    assert.throws(make, /metrics\.stale_after_ms: expected at least two intervals/);
  }
});

interface Pool {
  name: string;
  hosts: (Load & { host: string; age_ms: number })[];
  expect: { status: number | number[]; host?: string | string[]; requests?: number };
}

for (const pool of (JSON.parse(page("BC-34.json")) as { pools: Pool[] }).pools) {
  test(`late reports: ${pool.name} (BC-34)`, () => {
    const clock = new ManualClock();
    const names = pool.hosts.map((_, i) => `10.0.0.${i + 1}:8000`);
    const gateway = endpoint(
      names,
      (call) => {
        const lines = pool.hosts.flatMap((host, i) => {
          const label = `{instance="${names[i]}"}`;
          const time = Math.floor(clock.ms) - host.age_ms;
          return vllm(host)
            .trim()
            .split("\n")
            .map((line) => `${line.replace(/\{.*?\}/, label)} ${time}`);
        });
        call.respond(200, `${lines.join("\n")}\n`);
      },
      {
        clock,
        config: {
          metrics: {
            source: "endpoint",
            cluster: "prometheus",
            interval_ms: 100,
            timeout_ms: 100,
            stale_after_ms: 5000,
          },
        },
      },
    );
    const got = spread(gateway, pool.expect.requests ?? 20);
    assert.equal(got.get("undefined"), undefined, "each is dispatched");
    if (pool.name.startsWith("one late and")) {
      const late = got.get(names[0] as string) ?? 0;
      assert.ok(late <= 2, `${late} of 20 went to the late, once idle server`);
    }
  });
}

test("counts that no server can have are taken for none: the others share the work", () => {
  const hosts = hostNames(3);
  const [first, liar, third] = hosts as [string, string, string];
  const pages: Record<string, string> = Object.fromEntries(
    hosts.map((host) => [host, vllm({ running: 0, waiting: 0, kv: 0 })]),
  );
  for (const lie of ["1e308", "-1", "NaN", "+Inf", "2000000"]) {
    pages[liar] = `vllm:num_requests_running ${lie}\nvllm:num_requests_waiting ${lie}\n`;
    const gateway = scraping(pages);
    const open = Array.from({ length: 30 }, (_, i) => gateway.send(chat(`question ${i * 7919}`)));
    const got = tally(open.map(({ target }) => target));
    for (const host of [first, third]) assert.ok((got.get(host) ?? 0) >= 5, `${lie}: ${host}`);
  }
});
