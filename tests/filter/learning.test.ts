import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { chat, type Exchange, Gateway, hostNames } from "./gateway.ts";
import { type Job, Lab, prose, quantile, type Result } from "./lab.ts";
import { changeRecord, recordOf } from "./records.ts";

/** Single turns of 200 to 4200 tokens at 4 bytes a token, about one each `gapMs`. */
function turns(count: number, gapMs: number, stream: boolean, seed: number): Job[] {
  const next = random(seed);
  let atMs = 0;
  return Array.from({ length: count }, () => {
    atMs += -Math.log(1 - next()) * gapMs;
    const promptTokens = Math.round(200 + next() * next() * 4000);
    return {
      atMs,
      body: { ...chat(prose(promptTokens * 4, next)), stream },
      promptTokens,
      outputTokens: Math.round(20 + next() * 200),
    };
  });
}

const SLOW = 3;
const UNEQUAL = [{}, {}, {}, { slowFactor: SLOW }];

function assertWithin(got: number, truth: number, share: number, what: string): void {
  assert.ok(Math.abs(got / truth - 1) <= share, `${what}: ${got}, in truth ${truth}`);
}

function ttftP90(results: Result[]): number {
  return quantile(
    results.map(({ ttftMs }) => ttftMs),
    0.9,
  );
}

/** Makes the workers believe that they know a server's speeds, by so many answers. */
function know(lab: Lab, host: string, factor: number, samples = 1000): void {
  changeRecord(lab.gateway, host, {
    prefillFactor: factor,
    decodeFactor: factor,
    prefillSamples: samples,
    decodeSamples: samples,
    learnedMs: lab.gateway.clock.ms,
  });
}

for (const [stream, gapMs, workers] of [
  [true, 400, 1],
  [true, 100, 1],
  [false, 400, 1],
  [false, 100, 1],
  [false, 60, 4],
] as const) {
  test(`unequal servers: speeds after 200 ${stream ? "streamed" : "whole"} answers, one each ${gapMs} ms, ${workers} workers`, () => {
    for (const seed of [1, 2]) {
      const lab = new Lab(UNEQUAL, { workers });
      const jobs = turns(200, gapMs, stream, seed);
      lab.run(jobs.map((job, i) => ({ ...job, worker: i % workers })));
      lab.hosts.forEach((host, server) => {
        const truth = server === 3 ? SLOW : 1;
        const { prefillFactor, decodeFactor } = recordOf(lab.gateway, host);
        assertWithin(prefillFactor, truth, 0.2, `prefill of ${host}`);
        assertWithin(decodeFactor, truth, 0.2, `decoding of ${host}`);
      });
    }
  });
}

test("unequal servers: first tokens come about as soon as with true speeds", () => {
  const seeds = [1, 2, 3, 4, 5, 6];
  // At 40 ms the servers are near saturation, and all that is sent before the first answer is sent unknowing.
  for (const gapMs of [40, 60, 100, 400]) {
    const ratios = seeds.map((seed) => {
      const jobs = turns(200, gapMs, true, seed);
      const learned = new Lab(UNEQUAL).run(jobs);
      const knowing = new Lab(UNEQUAL, { config: { cost: { learn: false } } });
      // A record for each server comes with its first report.
      knowing.wait(1000);
      knowing.hosts.forEach((host, server) => {
        know(knowing, host, server === 3 ? SLOW : 1);
      });
      return ttftP90(learned) / ttftP90(knowing.run(jobs));
    });
    const mean = ratios.reduce((sum, ratio) => sum + ratio) / seeds.length;
    assert.ok(mean <= 1.2, `one each ${gapMs} ms: ${ratios}`);
  }
});

test("a server that takes requests and doesn't get on with them gets no more, busy as the others are", () => {
  const names = hostNames(3);
  const [stuck] = names;
  const gateway = new Gateway(names);
  const next = random(15);
  let sent = 0;
  for (let i = 0; i < 160; i++) {
    const fields = { stream: true, max_tokens: 4 };
    const exchange = gateway.send(chat(prose(2000, next), fields));
    if (exchange.target === stuck) sent++;
    else {
      exchange.begin({ headers: { "content-type": "text/event-stream" } });
      exchange.stream.responseBody('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
      // The first of them go on for long.
      if (i >= 60) exchange.end({ body: "data: [DONE]\n\n" });
    }
    gateway.host.advance(50);
  }
  assert.ok(sent >= 1 && sent <= 5, `${sent} of 160 were sent there`);
});

test("a client that leaves a late server doesn't make it look prompt", () => {
  const names = hostNames(2);
  const [late] = names as [string, string];
  const gateway = new Gateway(names);
  const next = random(16);
  const send = () => gateway.send(chat(prose(2000, next), { stream: true, max_tokens: 4 }));
  const stuck: Exchange[] = [];
  for (let i = 0; i < 40; i++) {
    const exchange = send();
    if (exchange.target === late) stuck.push(exchange);
    else {
      exchange.begin({ headers: { "content-type": "text/event-stream" } });
      exchange.stream.responseBody('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
    }
  }
  assert.ok(stuck.length >= 2);
  gateway.host.advance(3000);
  stuck[0]?.stream.clientReset();
  const later = Array.from({ length: 5 }, () => {
    const exchange = send();
    exchange.stream.clientReset();
    return exchange.target;
  });
  assert.ok(!later.includes(late), later.join(" "));
});

test("one odd answer doesn't spoil a speed", () => {
  const lab = new Lab([{}]);
  lab.run(turns(60, 400, true, 4));
  const host = lab.hosts[0] as string;
  const before = recordOf(lab.gateway, host);
  const exchange = lab.gateway.send(chat(prose(4000, random(5))));
  lab.wait(700_000);
  exchange.answer({ promptTokens: 1000, completionTokens: 10 });
  const after = recordOf(lab.gateway, host);
  assertWithin(after.prefillFactor, before.prefillFactor, 0.2, "prefill");
  assertWithin(after.decodeFactor, before.decodeFactor, 0.2, "decoding");
});

test("a server that becomes slow is learned anew", () => {
  const lab = new Lab([{}, {}]);
  lab.run(turns(100, 300, true, 6));
  for (const engine of lab.engines) engine.options.slowFactor = 2;
  lab.run(turns(200, 300, true, 7));
  for (const host of lab.hosts) {
    assertWithin(recordOf(lab.gateway, host).decodeFactor, 2, 0.2, host);
  }
});

test("a server that was slow for a while is tried again, though the others are idle", () => {
  const lab = new Lab([{}, {}, {}]);
  const [first] = lab.engines;
  if (first) first.options.slowFactor = 6;
  lab.run(turns(60, 500, true, 11));
  if (first) first.options.slowFactor = 1;
  const results = lab.run(turns(500, 6000, true, 12)).slice(350);
  const share = results.filter(({ host }) => host === lab.hosts[0]).length / results.length;
  assert.ok(share > 0.15, `${share}`);
});

test("one slow answer keeps a server from work for a minute or two, though the others are idle", () => {
  const lab = new Lab([{}, {}, {}]);
  const [odd, ...others] = lab.hosts as [string, string, string];
  lab.run(turns(30, 200, true, 15));
  for (const host of others) know(lab, host, 1);
  know(lab, odd, 10, 1);
  const results = lab.run(turns(600, 300, true, 16));
  const late = results.slice(400);
  const share = late.filter(({ host }) => host === odd).length / late.length;
  assert.ok(share > 0.15, `${share} of the requests from two minutes on`);
});

test("where nothing is known of a server, the others' speed is expected, not the configured one", () => {
  const fast = { slowFactor: 0.1 };
  const lab = new Lab([fast, fast, fast]);
  lab.wait(1000);
  const [first, second, unknown] = lab.hosts as [string, string, string];
  for (const host of [first, second]) know(lab, host, 0.1);
  const results = lab.run(turns(60, 100, true, 14));
  assert.ok(results.filter(({ host }) => host === unknown).length >= 10);
});

test("servers that answer at once are all used, however their first answers differed", () => {
  const hosts = hostNames(4);
  const gateway = new Gateway(hosts);
  const served = new Map<string, number>();
  for (let i = 0; i < 400; i++) {
    const exchange = gateway.send(chat(`Hello from ${i * 7919}`));
    const host = exchange.target as string;
    const count = served.get(host) ?? 0;
    served.set(host, count + 1);
    // Connections are made for the first two, and one of the servers takes its time for that.
    const isSlow = count < 2 && host === hosts[2];
    gateway.host.advance(isSlow ? 25 : 1);
    exchange.answer();
  }
  for (const host of hosts) assert.ok((served.get(host) ?? 0) >= 50, `${[...served]}`);
});

test("what was learned outlives the VMs that learned it", () => {
  const lab = new Lab(UNEQUAL, { workers: 2 });
  const next = random(10);
  const jobs = turns(120, 200, true, 10).map((job) => ({
    ...job,
    promptTokens: Math.round(job.promptTokens * 0.8),
    worker: Math.floor(next() * 2),
  }));
  lab.run(jobs);
  const text = prose(8000, next);
  const ask = () => {
    const exchange = lab.gateway.send(chat(text)).begin();
    const told = [exchange.debug("prompt-tokens"), exchange.debug("output-tokens")];
    exchange.stream.clientReset();
    return told;
  };
  const before = ask();
  const records = lab.hosts.map((host) => recordOf(lab.gateway, host));
  for (const vm of lab.gateway.host.vms) vm.reload();
  lab.wait(100);
  assert.deepEqual(ask(), before);
  assert.deepEqual(
    lab.hosts.map((host) => recordOf(lab.gateway, host).decodeFactor),
    records.map((record) => record.decodeFactor),
  );
});

test("servers that answer at once are equally fast, whatever their clocks say: prompts spread, sessions agree, caches count", () => {
  const names = hostNames(3);
  const gateway = new Gateway(names);
  const next = random(11);
  const slowdown = [0.3, 1, 4];
  for (let i = 0; i < 60; i++) {
    const exchange = gateway.send(chat(prose(32_000, next)));
    gateway.host.advance(slowdown[names.indexOf(String(exchange.target))] as number);
    exchange.answer({ promptTokens: 8000 });
    gateway.host.advance(200);
  }
  const counts = names.map(() => 0);
  let away = 0;
  for (let i = 0; i < 90; i++) {
    const headers = { "x-session-id": `s-${i}` };
    const target = gateway.send(chat(prose(60, next)), { headers }).answer().target as string;
    const home = new Gateway(names).send(chat("Hi"), { headers }).target;
    counts[names.indexOf(target)] = (counts[names.indexOf(target)] ?? 0) + 1;
    if (target !== home) away += 1;
  }
  assert.ok(Math.max(...counts) <= 45, counts.join(", "));
  assert.equal(away, 0);
  for (let i = 0; i < 20; i++) {
    const start = prose(2000, next);
    const first = gateway.send(chat(start + prose(20 * i, next))).answer().target;
    assert.equal(gateway.send(chat(start + prose(40, next))).answer().target, first);
  }
});
