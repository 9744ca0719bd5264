import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, it } from "node:test";
import { WASM } from "../../tools/paths.ts";
import { GENERATOR_NAMES, generate } from "./generators/index.ts";
import type { Outcome } from "./outcome.ts";
import { predictionLine, summarisePrediction } from "./prediction.ts";
import { runOptions, runPolicy } from "./run.ts";

/** Priors that are wrong on purpose: tokens have 4 bytes there, answers 75 to 420 tokens on average. */
const OPTIONS = runOptions({ config: { cost: { bytes_per_token: 3, output_tokens: 1000 } } });

/** Enough of each kind of request; contexts of coding agents are long to read. */
const REQUESTS: Readonly<Record<string, number>> = { "coding-agents": 400, "heavy-light": 2000 };

const skip = existsSync(WASM) ? false : "build/warmroute.wasm isn't built";

describe("predictions on the generated workloads", { skip }, () => {
  for (const name of GENERATOR_NAMES) {
    it(`${name}: prompts within 5 %, the mean of each kind of answers within 25 %`, (t) => {
      const workload = generate(name, { seed: 1, requests: REQUESTS[name] ?? 800 });
      const summary = summarisePrediction(runPolicy("warmroute", workload, OPTIONS).outcomes);
      assert.ok(summary !== null && summary.requests > workload.requests.length / 2);
      const line = predictionLine("warmroute", summary);
      t.diagnostic(line);
      assert.ok(summary.prompt_tokens_error <= 0.05, line);
      for (const { ratio } of Object.values(summary.output_tokens)) {
        assert.ok(Math.abs(ratio - 1) <= 0.25, line);
      }
      // Lengths are random: single answers can't be known better than by their kinds' means.
      assert.ok(summary.output_tokens_error <= 1.15 * summary.output_tokens_error_floor, line);
    });
  }
});

describe("summary of predictions", () => {
  const outcome = (at: number, promptTokens: number, outputTokens: number, kind: string): Outcome =>
    ({
      request: { promptTokens: 100, outputTokens, kind },
      arrivedMs: at,
      finishedMs: at,
      predicted: { promptTokens, outputTokens: 30 },
      state: "done",
    }) as Outcome;
  const learned = Array.from({ length: 50 }, (_, at) => outcome(at, 0, 1, "short"));

  it("leaves out what came before 50 answers, and says nothing of nothing", () => {
    assert.equal(summarisePrediction([]), null);
    assert.equal(summarisePrediction(learned), null);
  });

  it("compares means by kind, and single requests beside who knows the means", () => {
    const later = [
      outcome(100, 90, 20, "short"),
      outcome(101, 110, 40, "short"),
      outcome(102, 100, 60, "long"),
    ];
    const summary = summarisePrediction([...learned, ...later]);
    assert.equal(summary?.requests, 3);
    assert.ok(Math.abs(summary.prompt_tokens_error - 0.2 / 3) < 1e-9);
    assert.deepEqual(summary.output_tokens, {
      short: { requests: 2, mean: 30, ratio: 1 },
      long: { requests: 1, mean: 60, ratio: 0.5 },
    });
    // 10 of 20, 10 of 40, 30 of 60; and 10 of 20, 10 of 40, 0 of 60.
    assert.ok(Math.abs(summary.output_tokens_error - 1.25 / 3) < 1e-9);
    assert.ok(Math.abs(summary.output_tokens_error_floor - 0.75 / 3) < 1e-9);
  });
});
