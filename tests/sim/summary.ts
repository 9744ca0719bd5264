import { DEFAULT_ENGINE, prefillAloneMs } from "../llm/model.ts";
import type { Outcome, RunResult } from "./outcome.ts";
import { type PredictionSummary, summarisePrediction } from "./prediction.ts";
import type { WorkRequest } from "./workload.ts";

/** Latency goals. A request meets them with TTFT ≤ max(ttftMs, factor × its prefill alone). */
export interface Slo {
  ttftMs: number;
  tpotMs: number;
  /** 0 leaves the prompt's length out. */
  prefillFactor: number;
}

export const DEFAULT_SLO: Readonly<Slo> = { ttftMs: 2000, tpotMs: 100, prefillFactor: 3 };

export interface Distribution {
  mean: number;
  p50: number;
  p90: number;
  p99: number;
}

/** The figures of one policy, as they go to the JSON report. */
export interface Summary {
  policy: string;
  requests: number;
  rejected: number;
  failed: number;
  ttft_ms: Distribution;
  tpot_ms: Distribution;
  e2e_ms: Distribution;
  /** Of all prompt tokens served, those found in a server's cache. */
  cached_token_share: number;
  /** Prompt and output tokens of the busiest server over the mean. */
  busiest_over_mean: number;
  goodput_per_s: number;
  /** Requests within the goals, of all. */
  goodput_share: number;
  /** How well the policy knew sizes beforehand; null for policies that predict nothing. */
  prediction: PredictionSummary | null;
  duration_s: number;
  wall_s: number;
}

export function summarise(result: RunResult, slo: Slo): Summary {
  const { outcomes } = result;
  const done = outcomes.filter((outcome) => outcome.state === "done");
  const promptTokens = sum(done, (outcome) => outcome.request.promptTokens);
  const cachedTokens = sum(done, (outcome) => outcome.cachedTokens);
  const served = new Array<number>(result.servers).fill(0);
  for (const { server, request } of done) {
    served[server] = (served[server] as number) + request.promptTokens + request.outputTokens;
  }
  const mean = sum(served, (tokens) => tokens) / served.length;
  const good = done.filter((outcome) => isGood(outcome, slo)).length;
  const firstMs = Math.min(...bounds(outcomes, (outcome) => outcome.arrivedMs));
  const lastMs = Math.max(...bounds(outcomes, (outcome) => outcome.finishedMs));
  const durationSeconds = (lastMs - firstMs) / 1000;
  return {
    policy: result.policy,
    requests: outcomes.length,
    rejected: outcomes.filter((outcome) => outcome.state === "rejected").length,
    failed: outcomes.filter((outcome) => outcome.state === "failed").length,
    ttft_ms: distribution(done.map(ttftMs)),
    tpot_ms: distribution(done.filter((o) => o.request.outputTokens > 1).map(tpotMs)),
    e2e_ms: distribution(done.map((outcome) => outcome.finishedMs - outcome.arrivedMs)),
    cached_token_share: promptTokens > 0 ? cachedTokens / promptTokens : 0,
    busiest_over_mean: mean > 0 ? Math.max(...served) / mean : 1,
    goodput_per_s: durationSeconds > 0 ? good / durationSeconds : 0,
    goodput_share: outcomes.length > 0 ? good / outcomes.length : 0,
    prediction: summarisePrediction(outcomes),
    duration_s: durationSeconds,
    wall_s: result.wallMs / 1000,
  };
}

export function ttftMs(outcome: Outcome): number {
  return outcome.firstTokenMs - outcome.arrivedMs;
}

/** Time per output token after the first. */
export function tpotMs(outcome: Outcome): number {
  const tokens = outcome.request.outputTokens - 1;
  return tokens > 0 ? (outcome.finishedMs - outcome.firstTokenMs) / tokens : 0;
}

/** Within which a request's first token must be there. */
export function ttftLimitMs({ promptTokens }: WorkRequest, slo: Slo): number {
  return Math.max(slo.ttftMs, slo.prefillFactor * prefillAloneMs(promptTokens, DEFAULT_ENGINE));
}

export function isGood(outcome: Outcome, slo: Slo): boolean {
  const isInTime = ttftMs(outcome) <= ttftLimitMs(outcome.request, slo);
  return outcome.state === "done" && isInTime && tpotMs(outcome) <= slo.tpotMs;
}

export function distribution(values: readonly number[]): Distribution {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  const total = sum(values, (value) => value);
  return {
    mean: values.length > 0 ? total / values.length : 0,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
  };
}

function sum<T>(list: readonly T[], value: (item: T) => number): number {
  return list.reduce((total, item) => total + value(item), 0);
}

function bounds(outcomes: readonly Outcome[], time: (outcome: Outcome) => number): number[] {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const outcome of outcomes) {
    least = Math.min(least, time(outcome));
    most = Math.max(most, time(outcome));
  }
  return [least, most];
}
