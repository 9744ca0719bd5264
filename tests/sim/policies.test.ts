import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, it } from "node:test";
import { WASM } from "../../tools/paths.ts";
import { Conversation, newStart } from "./generators/conversation.ts";
import { generate } from "./generators/index.ts";
import type { RunResult } from "./outcome.ts";
import { BASELINES } from "./policies/index.ts";
import { Random } from "./random.ts";
import { runOptions, runPolicy } from "./run.ts";
import { DEFAULT_SLO, summarise } from "./summary.ts";
import type { Workload } from "./workload.ts";
import { WorkloadBuilder } from "./workload.ts";

const OPTIONS = runOptions({ servers: 4 });

/** What each policy promises; the suite below holds it to that. */
const TRAITS: Readonly<Record<string, { sticks: boolean; balances: boolean }>> = {
  warmroute: { sticks: true, balances: true },
  random: { sticks: false, balances: false },
  round_robin: { sticks: false, balances: true },
  least_request: { sticks: false, balances: true },
  ring_hash: { sticks: true, balances: false },
  chwbl: { sticks: true, balances: true },
  epp: { sticks: true, balances: false },
  dynamo: { sticks: false, balances: true },
  sglang: { sticks: true, balances: true },
  higress: { sticks: true, balances: true },
  oracle: { sticks: true, balances: true },
};

/** Conversations that all begin with one system prompt, far apart in time. */
function lightChats(): Workload {
  const random = new Random(3);
  const builder = new WorkloadBuilder();
  const start = newStart(builder, [["system", 2000]]);
  for (let session = 0; session < 40; session += 1) {
    const names = { session: `s${session}`, tenant: "t", loop: "closed" as const };
    const conversation = new Conversation(builder, start, names);
    let waitMs = session * 2500;
    for (let turn = 0; turn < 5; turn += 1) {
      conversation.say("user", 600 + random.below(600));
      conversation.ask(waitMs, 40);
      waitMs = 15_000;
    }
  }
  return builder.done("light chats");
}

/** Prompts that have nothing in common, all within a second. */
function burst(): Workload {
  const builder = new WorkloadBuilder();
  for (let i = 0; i < 80; i += 1) {
    const start = newStart(builder, [["user", 4000]]);
    const names = { session: `s${i}`, tenant: "t", loop: "open" as const };
    new Conversation(builder, start, names).ask(i * 12, 60);
  }
  return builder.done("burst");
}

/** Share of later turns that were served where the turn before was. */
function stickiness(result: RunResult): number {
  const last = new Map<string, number>();
  let turns = 0;
  let kept = 0;
  const outcomes = [...result.outcomes].sort((a, b) => a.arrivedMs - b.arrivedMs);
  for (const { request, server } of outcomes) {
    const before = last.get(request.session);
    if (before !== undefined) {
      turns += 1;
      if (before === server) kept += 1;
    }
    last.set(request.session, server);
  }
  return kept / turns;
}

function requestsPerServer(result: RunResult): number[] {
  const counts = new Array<number>(result.servers).fill(0);
  for (const { server } of result.outcomes) counts[server] = (counts[server] as number) + 1;
  return counts;
}

for (const [name, traits] of Object.entries(TRAITS)) {
  const skip =
    name === "warmroute" && !existsSync(WASM) ? "build/warmroute.wasm isn't built" : false;
  describe(`policy ${name}`, { skip }, () => {
    it("serves every request, the same way each time", () => {
      const workload = generate("multi-tenant-chat", { seed: 5, requests: 300 });
      const first = runPolicy(name, workload, OPTIONS);
      const again = runPolicy(name, workload, OPTIONS);
      assert.ok(first.outcomes.every((outcome) => outcome.state === "done"));
      const trace = (result: RunResult): string =>
        result.outcomes.map((o) => `${o.server} ${o.firstTokenMs} ${o.finishedMs}`).join("\n");
      assert.equal(trace(first), trace(again));
    });

    it(
      traits.sticks ? "keeps conversations where they are" : "serves conversations anywhere",
      () => {
        const result = runPolicy(name, lightChats(), OPTIONS);
        if (traits.sticks) assert.ok(stickiness(result) >= 0.95, `${stickiness(result)}`);
        assert.ok(summarise(result, DEFAULT_SLO).cached_token_share > 0.3);
      },
    );

    it("spreads a burst", () => {
      const counts = requestsPerServer(runPolicy(name, burst(), OPTIONS));
      assert.ok(
        counts.every((count) => count > 0),
        `${counts}`,
      );
      if (traits.balances) assert.ok(Math.max(...counts) <= 1.5 * 20, `${counts}`);
    });

    it("goes round a dead server, and uses it again", () => {
      const workload = generate("retrieval", { seed: 5, requests: 300 });
      const outages = [{ server: 1, from: 0.3, to: 0.6 }];
      const result = runPolicy(name, workload, { ...OPTIONS, outages });
      const lastMs = Math.max(...workload.requests.map((request) => request.atMs));
      const inOutage = result.outcomes.filter(
        ({ arrivedMs }) => arrivedMs > 0.3 * lastMs + 2000 && arrivedMs < 0.6 * lastMs,
      );
      assert.ok(result.outcomes.every((outcome) => outcome.state === "done"));
      // A request may be held until the server is back, never served by it before.
      const backMs = 0.6 * lastMs;
      assert.ok(inOutage.length > 0);
      assert.ok(inOutage.every((o) => o.server !== 1 || o.firstTokenMs > backMs));
      const late = result.outcomes.filter(({ arrivedMs }) => arrivedMs > 0.75 * lastMs);
      assert.ok(late.some(({ server }) => server === 1));
    });

    it("works behind several gateways", () => {
      const workload = generate("tool-agents", { seed: 5, requests: 300 });
      const result = runPolicy(name, workload, { ...OPTIONS, gateways: 3 });
      assert.ok(result.outcomes.every((outcome) => outcome.state === "done"));
      assert.equal(new Set(result.outcomes.map((outcome) => outcome.gateway)).size, 3);
    });
  });
}

describe("policies", () => {
  it("are all held to the suite", () => {
    const names = ["warmroute", ...Object.keys(BASELINES)];
    assert.deepEqual(Object.keys(TRAITS).sort(), names.sort());
  });
});
