import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chatBody } from "./body.ts";
import { generate } from "./generators/index.ts";
import { TimeHeap } from "./heap.ts";
import { htmlPage } from "./html.ts";
import { parseOptions } from "./options.ts";
import { Random } from "./random.ts";
import { makeReport } from "./report.ts";
import { runOptions, runPolicy } from "./run.ts";
import { DEFAULT_SLO, distribution, summarise } from "./summary.ts";
import { table } from "./table.ts";
import { atRate } from "./workload.ts";

const OPTIONS = runOptions({ servers: 4 });

describe("time heap", () => {
  it("gives out by time, equals in the order they came", () => {
    const heap = new TimeHeap<string>();
    const random = new Random(1);
    const times = Array.from({ length: 500 }, (_, i) => ({ time: random.below(50), i }));
    for (const { time, i } of times) heap.push(time, `${i}`);
    times.sort((a, b) => a.time - b.time || a.i - b.i);
    for (const { time, i } of times) {
      assert.equal(heap.nextMs, time);
      assert.equal(heap.pop(), `${i}`);
    }
    assert.equal(heap.nextMs, Number.POSITIVE_INFINITY);
    assert.equal(heap.pop(), undefined);
  });
});

describe("world", () => {
  it("serves closed loops: a turn comes its think time after the one before has ended", () => {
    const workload = generate("tool-agents", { seed: 2, requests: 200 });
    const { outcomes } = runPolicy("round_robin", workload, OPTIONS);
    for (const { request, arrivedMs } of outcomes) {
      if (request.after < 0) continue;
      const endMs = outcomes[request.after]?.finishedMs ?? Number.NaN;
      assert.equal(arrivedMs, endMs + request.atMs);
    }
  });

  it("has slower servers answer later", () => {
    const workload = generate("retrieval", { seed: 2, requests: 200 });
    const slow = new Map([[2, 3]]);
    const { outcomes } = runPolicy("round_robin", workload, { ...OPTIONS, slow });
    const mean = (wanted: (server: number) => boolean): number =>
      distribution(outcomes.filter((o) => wanted(o.server)).map((o) => o.finishedMs - o.arrivedMs))
        .mean;
    assert.ok(mean((server) => server === 2) > 2 * mean((server) => server !== 2));
  });

  it("breaks the requests of a server that dies, and clients send them again", () => {
    const workload = atRate(generate("retrieval", { seed: 2, requests: 200 }), 2);
    const outages = [{ server: 0, from: 0.5, to: 1 }];
    const { outcomes } = runPolicy("random", workload, { ...OPTIONS, outages });
    assert.ok(outcomes.some((outcome) => outcome.failures > 0));
    assert.ok(outcomes.every((outcome) => outcome.state === "done"));
  });
});

describe("bodies", () => {
  const { requests } = generate("coding-agents", { seed: 2, requests: 60 });

  it("are chats of about four bytes a token", () => {
    for (const request of requests) {
      const body = JSON.parse(chatBody(request).toString()) as {
        messages: { role: string; content: string }[];
        tools: { function: { description: string } }[];
      };
      const parts = body.messages.map((message) => message.content);
      parts.push(body.tools[0]?.function.description ?? "");
      const chars = parts.reduce((sum, text) => sum + text.length, 0);
      assert.equal(chars, request.promptTokens * 4);
      assert.equal(body.messages.length + 1, request.messages.length);
    }
  });

  it("are equal exactly as far as the block ids are", () => {
    const first = requests.find((request) => request.after < 0);
    const next = requests.find((request) => request.after === first?.id);
    assert.ok(first && next);
    const before = chatBody(first).toString();
    const after = chatBody(next).toString();
    assert.ok(after.startsWith(before.slice(0, -4)));
    const other = requests.find((r) => r.after < 0 && r.id !== first.id);
    assert.ok(other && chatBody(other).toString() !== before);
  });
});

describe("figures", () => {
  it("count what the requests went through", () => {
    const workload = generate("multi-tenant-chat", { seed: 2, requests: 200 });
    const result = runPolicy("least_request", workload, OPTIONS);
    const summary = summarise(result, DEFAULT_SLO);
    assert.equal(summary.requests, workload.requests.length);
    assert.equal(summary.rejected + summary.failed, 0);
    assert.ok(summary.ttft_ms.p50 <= summary.ttft_ms.p90);
    assert.ok(summary.e2e_ms.p50 > summary.ttft_ms.p50);
    assert.ok(summary.busiest_over_mean >= 1 && summary.busiest_over_mean < 2);
    assert.equal(summary.goodput_share, 1);
    assert.ok(Math.abs(summary.goodput_per_s * summary.duration_s - summary.requests) < 1e-6);
    const strict = summarise(result, { ttftMs: 1, tpotMs: 100, prefillFactor: 0 });
    assert.equal(strict.goodput_share, 0);
    assert.match(table([summary]), /least_request +2\d\d/);
    const narrow = table([summary], 80).split("\n");
    assert.ok(
      narrow.every((line) => line.length <= 80),
      narrow.join("\n"),
    );
    const options = parseOptions(["--policy", "least_request", "--rate", "1,2"]);
    const rates = [1, 2].map((rate) => ({ rate, summaries: [summary] }));
    const report = makeReport(options, "x", rates);
    assert.equal(report.policies.least_request?.requests, summary.requests);
    const page = htmlPage(report, [{ result, summary }]);
    assert.match(page, /Goodput against rate/);
    assert.doesNotMatch(page, /NaN|undefined|<script|https?:/);
  });

  it("take percentiles from the sorted values", () => {
    const values = Array.from({ length: 100 }, (_, i) => 99 - i);
    assert.deepEqual(distribution(values), { mean: 49.5, p50: 50, p90: 90, p99: 99 });
    assert.deepEqual(distribution([]), { mean: 0, p50: 0, p90: 0, p99: 0 });
  });
});

describe("options", () => {
  it("say what is wrong", () => {
    const wrong = [
      ["--policy", "x"],
      ["--servers", "0"],
      ["--rate", "0"],
      ["--seed", "a"],
      ["--half", "third"],
      ["--slow", "1:x"],
    ];
    for (const args of wrong) assert.throws(() => parseOptions(args), RangeError, args.join(" "));
    const options = parseOptions(["--slow", "1:3", "--outage", "2:0.4-0.6", "--policy", "all"]);
    assert.equal(options.slow.get(1), 3);
    assert.deepEqual(options.outages, [{ server: 2, from: 0.4, to: 0.6 }]);
    assert.equal(options.policies.length, 11);
  });
});
