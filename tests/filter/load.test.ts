import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { chat, type Exchange, Gateway, hostNames, tally } from "./gateway.ts";
import { Lab, prose } from "./lab.ts";
import { recordOf } from "./records.ts";

const CASES = new URL("../fixtures/cases/", import.meta.url);
const scenario = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(name, CASES), "utf8")) as T;

interface Report {
  running: number;
  waiting: number;
  kv: number;
}

/** A gateway whose servers report what `reports` holds, which may change. */
function reporting(
  reports: Record<string, Report>,
  options: { workers?: number; config?: Record<string, unknown> } = {},
): Gateway {
  const gateway = new Gateway(Object.keys(reports), {
    workers: options.workers ?? 1,
    config: { metrics: { interval_ms: 500 }, ...options.config },
    onCall: (call) => {
      const { running, waiting, kv } = reports[call.headers.get(":authority") ?? ""] as Report;
      call.respond(
        200,
        `vllm:num_requests_running ${running}\nvllm:num_requests_waiting ${waiting}\n` +
          `vllm:kv_cache_usage_perc ${kv}\n`,
      );
    },
  });
  gateway.host.advance(1200);
  return gateway;
}

const IDLE: Report = { running: 0, waiting: 0, kv: 0.1 };

for (const [what, words, open, share] of [
  ["a session that many share", 100, 64, 0.4],
  ["a prompt that everybody sends", 3000, 128, 0.5],
  ["a heavy prompt that everybody sends", 20_000, 400, 0.6],
] as const) {
  test(`${what} at once isn't left to one server, and is one conversation again afterwards`, () => {
    const gateway = new Gateway(hostNames(4));
    const headers = { "x-session-id": "everybody's" };
    const hot = chat("word ".repeat(words));
    gateway.send(hot, { headers }).answer();
    const sent = Array.from({ length: open }, () => gateway.send(hot, { headers }));
    const counts = tally(sent.map(({ target }) => target));
    const most = Math.max(...counts.values());
    assert.equal(counts.size, 4);
    assert.ok(most <= share * open, `${most} of ${open} on one server`);
    for (const exchange of sent) exchange.answer();
    gateway.host.advance(1000);
    const turns = Array.from({ length: 8 }, () => gateway.send(hot, { headers }).answer().target);
    assert.equal(new Set(turns).size, 1);
  });
}

test("a prefix that everybody shares doesn't flood the server that has it", () => {
  const system = prose(12_000, random(1));
  const lab = new Lab([{}, {}, {}, {}]);
  const next = random(2);
  // A burst of different questions under one system prompt of 3000 tokens: 4 a second would do for one server.
  const jobs = Array.from({ length: 240 }, (_, i) => ({
    atMs: i * 25,
    body: {
      model: "m1",
      stream: true,
      messages: [
        { role: "system", content: system },
        { role: "user", content: prose(400, next) },
      ],
    },
    promptTokens: 3100,
    outputTokens: 100,
    blocks: [1, 187, 1000 + i * 10, 6],
  }));
  const results = lab.run(jobs);
  const counts = tally(results.map(({ host }) => host));
  assert.equal(counts.size, 4, "it is worth having on every server");
  assert.ok(Math.max(...counts.values()) <= 90, [...counts].join(" "));
  const uncached = results.filter(({ cachedTokens }) => cachedTokens === 0).length;
  assert.ok(uncached <= 12, `${uncached} of 240 paid for the prefix`);
});

test("a session in a hurry overflows to another server, and no earlier than it pays", () => {
  const hosts = hostNames(2);
  const pair = reporting({ [hosts[0] as string]: IDLE, [hosts[1] as string]: IDLE });
  const headers = { "x-session-id": "hot" };
  const long = (i: number) => chat(prose(40_000, random(i + 100)));
  const first = pair.send(long(0), { headers }).answer().target;
  // A few at once stay, for a while each waits for the one before.
  const second = pair.send(chat("short"), { headers });
  assert.equal(second.target, first);
  // Each of these takes half a second: they don't all queue at one of two servers.
  const open = Array.from({ length: 12 }, (_, i) => pair.send(long(i + 1), { headers }));
  const there = tally(open.map(({ target }) => target)).get(`${first}`) ?? 0;
  assert.ok(there >= 4 && there <= 9, `${there} of 12 stayed`);
});

test("sessions stay where they are while others are served, whatever the order", () => {
  const gateway = new Gateway(hostNames(3), { workers: 2 });
  const homes = new Map<number, string | undefined>();
  const open: Exchange[] = [];
  let moved = 0;
  for (let i = 0; i < 400; i++) {
    const session = (i * 37) % 100;
    const headers = { "x-session-id": `s-${session}` };
    const exchange = gateway.send(chat(`turn ${i}`), { worker: i % 2, headers });
    const home = homes.get(session);
    if (home && home !== exchange.target) moved++;
    homes.set(session, exchange.target);
    open.push(exchange);
    gateway.host.advance(3);
    if (open.length >= 8) open.splice((i * 7) % 8, 1)[0]?.answer();
  }
  assert.ok(moved <= 4, `${moved} of 400`);
});

test("ties: idle servers are all used, one request at a time (BC-21)", () => {
  const { hosts } = scenario<{ hosts: ({ host: string } & Report)[] }>("BC-21.json");
  const reports = Object.fromEntries(hosts.map((host, i) => [`10.0.0.${i + 1}:8000`, host]));
  const gateway = reporting(reports);
  const targets: (string | undefined)[] = [];
  for (let i = 0; i < 40; i++) {
    targets.push(gateway.send(chat(`all different ${i * 7919}`)).answer().target);
    gateway.host.advance(30);
  }
  assert.equal(tally(targets).size, 4);
});

test("many workers choose as one does, for each sees what the others sent a moment ago", () => {
  const spread = (workers: number) => {
    const gateway = new Gateway(hostNames(16), { workers });
    for (let worker = 0; worker < workers; worker++)
      gateway.send(chat("hello"), { worker }).answer();
    let servers = 0;
    for (let round = 0; round < 4; round++) {
      gateway.host.advance(200);
      const sent = Array.from({ length: 16 }, (_, i) => {
        gateway.host.advance(2);
        const text = prose(20_000, random(1000 * round + i));
        return gateway.send(chat(text), { worker: (i * 5 + round) % workers });
      });
      servers += tally(sent.map(({ target }) => target)).size;
      for (const exchange of sent) exchange.answer();
    }
    return servers;
  };
  const one = spread(1);
  assert.ok(spread(16) >= one - 2, `${spread(16)}, one worker ${one}`);
});

for (const workers of [1, 4]) {
  test(`eight requests between two reports split evenly, ${workers} workers (BC-22)`, () => {
    const { hosts, burst, burst_window_ms } = scenario<{
      hosts: { reported_load: number }[];
      burst: number;
      burst_window_ms: number;
    }>("BC-22.json");
    const names = hostNames(2);
    const reports = Object.fromEntries(
      hosts.map(({ reported_load }, i) => [
        names[i],
        { running: reported_load, waiting: 0, kv: 0.1 },
      ]),
    );
    const metrics = { interval_ms: 5000, stale_after_ms: 30_000 };
    for (let round = 0; round < 10; round++) {
      const gateway = reporting(reports, { workers, config: { metrics } });
      assert.equal(recordOf(gateway, names[1] as string).running, 1);
      const targets = Array.from({ length: burst }, (_, i) => {
        gateway.host.advance(burst_window_ms / burst);
        const body = chat(`${round} burst ${i * 7919}`);
        return gateway.send(body, { worker: i % workers }).target;
      });
      const most = Math.max(...tally(targets).values());
      assert.ok(most <= (workers === 1 ? 5 : 6), `round ${round}: ${most} of 8 on one`);
    }
  });
}

test("a restart, by start time or by fallen counters, voids what was cached there", () => {
  const names = hostNames(3);
  for (const how of ["start time", "counters"] as const) {
    const started = 1_700_000_000;
    let served = 5_000_000;
    let victim = "";
    const gateway = new Gateway(names, {
      config: { metrics: { interval_ms: 500 } },
      onCall: (call) => {
        const isVictim = call.headers.get(":authority") === victim;
        const start = isVictim && how === "start time" ? started + 900 : started;
        const tokens = isVictim && how === "counters" ? 40 : served++;
        call.respond(
          200,
          `vllm:num_requests_running 0\nvllm:prompt_tokens_total ${tokens}\n` +
            `process_start_time_seconds ${start}\n`,
        );
      },
    });
    gateway.host.advance(1500);
    const talks = Array.from({ length: 30 }, (_, i) => chat(prose(6000, random(i + 1))));
    const homes = talks.map((body) => gateway.send(body).answer().target as string);
    victim = homes[0] as string;
    gateway.host.advance(1500);
    talks.forEach((body, i) => {
      const exchange = gateway.send(body).begin();
      const cached = Number(exchange.debug("cached-tokens"));
      exchange.stream.clientReset();
      if (homes[i] === victim) assert.equal(cached, 0, how);
      else assert.ok(cached > 1000, `${how}: others keep theirs`);
    });
  }
});

test("a restarted server starts slowly", () => {
  const lab = new Lab([{}, {}, {}]);
  const next = random(5);
  const burst = (count: number): Exchange[] =>
    Array.from({ length: count }, () => lab.gateway.send(chat(prose(2000, next))));
  lab.wait(15_000);
  const [restarted] = lab.hosts as [string];
  const share = (open: Exchange[]) => {
    for (const exchange of open) exchange.stream.clientReset();
    lab.wait(100);
    return open.filter(({ target }) => target === restarted).length / open.length;
  };
  const before = share(burst(60));
  lab.engines[0]?.restart(lab.nowMs);
  lab.wait(800);
  const first = share(burst(60));
  lab.wait(15_000);
  const later = share(burst(60));
  assert.ok(first > 0 && first < 0.7 * before, `${first} after ${before}`);
  assert.ok(later > 0.8 * before, `${later} in the end`);
});

test("what was reported cached corrects what is believed to be: a small cache shrinks, a flushed one is void", () => {
  const gateway = new Gateway(hostNames(1));
  const body = chat(prose(8000, random(6)));
  const host = "10.0.0.1:8000";
  gateway.send(body).answer();
  gateway.send(body).answer({ cachedTokens: 1900, promptTokens: 2000 });
  // Flushed: what is young is gone, again and again.
  let told = "";
  for (let i = 0; i < 4; i++) {
    const exchange = gateway.send(body).begin();
    told = exchange.debug("cached-tokens") ?? "";
    exchange.end({ cachedTokens: 0, promptTokens: 2000 });
  }
  assert.ok(recordOf(gateway, host).flushedClock > 0, `still told ${told}`);
});

test("the cost of the choice and of the next best server is told", () => {
  const gateway = new Gateway(hostNames(3));
  const exchange = gateway.send(chat("hello")).answer();
  const timing = exchange.stream.response.headers.get("server-timing") ?? "";
  const match = /^cost;dur=([\d.]+), next-cost;dur=([\d.]+)$/.exec(timing);
  assert.ok(match, timing);
  assert.ok(Number(match[1]) > 0 && Number(match[1]) <= Number(match[2]));
  const single = new Gateway(hostNames(1)).send(chat("hello")).answer();
  assert.match(single.stream.response.headers.get("server-timing") ?? "", /^cost;dur=[\d.]+$/);
  const quiet = new Gateway(hostNames(1), { config: { debug_headers: false } });
  const none = quiet.send(chat("hello")).answer();
  assert.equal(none.stream.response.headers.get("server-timing"), undefined);
});

test("prediction errors are counted: tokens, lengths, time to the first token", () => {
  const lab = new Lab([{}, {}]);
  const next = random(7);
  lab.run(
    Array.from({ length: 40 }, (_, i) => ({
      atMs: i * 400,
      body: { ...chat(prose(4000, next)), stream: true },
      promptTokens: 1000,
      outputTokens: 60,
    })),
  );
  const { metrics } = lab.gateway.host;
  for (const name of ["prompt_tokens", "output_tokens", "ttft"]) {
    const samples = metrics.histogram(`warmroute.${name}_error_percent`);
    assert.ok((samples?.count ?? 0) >= 20, `${name}: ${samples?.count}`);
    assert.ok((samples?.sum ?? 0) / (samples?.count ?? 1) < 100, `${name}: ${samples?.sum}`);
    const unit = name === "ttft" ? "_ms" : "";
    const sum = (what: string) => metrics.counter(`warmroute.${name}_${what}${unit}_total`) ?? 0;
    const [predicted, observed, missed] = [sum("predicted"), sum("observed"), sum("missed")];
    assert.ok(observed > 0 && missed < observed, `${name}: ${missed} of ${observed}`);
    // Sums of whole numbers: each is rounded by half at most.
    const rounding = 1.5 * (samples?.count ?? 0);
    assert.ok(Math.abs(predicted - observed) <= missed + rounding, `${name}: ${predicted}`);
  }
});
