import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countBlocks } from "../llm/runs.ts";
import { GENERATOR_NAMES, generate } from "./generators/index.ts";
import { findTrace, loadWorkload } from "./trace.ts";
import { atRate, countSessions, firstSessions, half, isClosed, type Workload } from "./workload.ts";

const TRACES = [
  "mooncake_conversation_10min",
  "azure2023_code",
  "agentic_coding_sessions_100",
  "lmcache_agent_sessions",
  "servegen_m-mid_clients",
  "sharegpt_vllm_rtxpro6000_llama",
];

function check(workload: Workload): void {
  for (const [id, request] of workload.requests.entries()) {
    assert.equal(request.id, id);
    assert.ok(request.after < id);
    assert.ok(request.atMs >= 0 && request.promptTokens > 0 && request.outputTokens > 0);
    assert.equal(countBlocks(request.blocks), Math.floor(request.promptTokens / 16));
    const blocks = request.messages.reduce((sum, message) => sum + message.blocks, 0);
    assert.ok(blocks >= Math.floor(request.promptTokens / 16));
  }
}

describe("generators", () => {
  for (const name of GENERATOR_NAMES) {
    it(`${name} is sound, open and closed, and repeats with its seed`, () => {
      for (const loop of ["open", "closed"]) {
        const workload = generate(`${name}:${loop}`, { seed: 7, requests: 500 });
        check(workload);
        assert.ok(workload.requests.length >= 500);
        const again = generate(`${name}:${loop}`, { seed: 7, requests: 500 });
        assert.deepEqual(again, workload);
        const other = generate(`${name}:${loop}`, { seed: 8, requests: 500 });
        assert.notDeepEqual(other.requests[0], workload.requests[0]);
      }
    });
  }

  it("heavy-light comes in bursts, some prompts a hundred times longer", () => {
    const { requests } = generate("heavy-light", { seed: 1, requests: 4000 });
    const counts: number[] = [];
    for (const { atMs } of requests) {
      const window = Math.floor(atMs / 10_000);
      counts[window] = (counts[window] ?? 0) + 1;
    }
    const filled = Array.from(counts, (count) => count ?? 0);
    const mean = requests.length / filled.length;
    const variance = filled.reduce((sum, n) => sum + (n - mean) ** 2, 0) / filled.length;
    assert.ok(variance / mean >= 4);
    const sorted = requests.map((request) => request.promptTokens).sort((a, b) => a - b);
    const median = sorted[sorted.length >> 1] as number;
    assert.ok((sorted.at(-1) as number) > 100 * median);
  });

  it("refuses unknown names", () => {
    assert.throws(() => generate("nothing", { seed: 1, requests: 1 }), RangeError);
    assert.throws(() => generate("retrieval:round", { seed: 1, requests: 1 }), RangeError);
  });
});

describe("traces", () => {
  for (const name of TRACES) {
    const skip = findTrace(name) === undefined ? "the folder of traces isn't there" : false;
    it(`${name} is read whole`, { skip }, () => {
      check(loadWorkload(name, { seed: 1, requests: 0 }));
    });
  }
});

describe("workloads", () => {
  it("come in halves that cut no session and leave nothing out", () => {
    const workload = generate("tool-agents", { seed: 1, requests: 1000 });
    const first = half(workload, "first");
    const second = half(workload, "second");
    check(first);
    check(second);
    assert.equal(first.requests.length + second.requests.length, workload.requests.length);
    const sessions = new Set(first.requests.map((request) => request.session));
    assert.ok(second.requests.every((request) => !sessions.has(request.session)));
  });

  it("of users who wait come with as many users as are asked for, whole sessions of them", () => {
    const workload = generate("tool-agents", { seed: 1, requests: 400 });
    assert.ok(isClosed(workload) && !isClosed(generate("retrieval", { seed: 1, requests: 40 })));
    const few = firstSessions(workload, 10);
    check(few);
    assert.equal(countSessions(few), 10);
    const sessions = new Set(few.requests.map((request) => request.session));
    const whole = workload.requests.filter((request) => sessions.has(request.session));
    assert.equal(few.requests.length, whole.length);
  });

  it("come faster at a higher rate, with the same think times", () => {
    const workload = generate("tool-agents", { seed: 1, requests: 200 });
    const faster = atRate(workload, 4);
    for (const [id, request] of workload.requests.entries()) {
      const factor = request.after < 0 ? 4 : 1;
      assert.equal(faster.requests[id]?.atMs, request.atMs / factor);
    }
  });
});
