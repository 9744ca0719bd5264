import type { Outcome, Progress } from "./drive.ts";

/** What is shown of one fleet. */
export interface Figures {
  done: number;
  failed: number;
  inFlight: number;
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  /** Prompt tokens that were in the server's cache, of all prompt tokens; 0..1. */
  cachedShare: number;
  /** Requests of the busiest server over the mean of all. */
  busiestOverMean: number;
  /** Requests and prompt tokens computed per server, in the order of `hosts`. */
  requests: number[];
  computedTokens: number[];
}

/** The figures of the traffic so far. */
export function figuresOf({ outcomes, inFlight }: Progress, hosts: string[]): Figures {
  const good = outcomes.filter(({ ok }) => ok);
  const ttfts = good.map(({ ttftMs }) => ttftMs).sort((a, b) => a - b);
  const sum = (list: Outcome[], of: (one: Outcome) => number) =>
    list.reduce((total, one) => total + of(one), 0);
  const perServer = (of: (one: Outcome) => number) =>
    hosts.map((host) =>
      sum(
        good.filter(({ server }) => server === host),
        of,
      ),
    );
  const requests = perServer(() => 1);
  return {
    done: good.length,
    failed: outcomes.length - good.length,
    inFlight,
    p50Ms: quantile(ttfts, 0.5),
    p90Ms: quantile(ttfts, 0.9),
    p99Ms: quantile(ttfts, 0.99),
    cachedShare: sum(good, (one) => one.cachedTokens) / sum(good, (one) => one.promptTokens),
    busiestOverMean: (Math.max(...requests) * hosts.length) / good.length,
    requests,
    computedTokens: perServer((one) => one.promptTokens - one.cachedTokens),
  };
}

/** The value that a share `q` of sorted values does not exceed; NaN of none. */
export function quantile(sorted: number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN;
}

/** Median first-token times of consecutive spans of the run, oldest first; NaN for empty ones. */
export function medians(
  outcomes: Outcome[],
  spanMs: number,
  count: number,
  nowMs: number,
): number[] {
  return Array.from({ length: count }, (_unused, i) => {
    const from = nowMs - (count - i) * spanMs;
    const span = outcomes.filter(
      ({ ok, startedMs, ttftMs }) =>
        ok && startedMs + ttftMs >= from && startedMs + ttftMs < from + spanMs,
    );
    return quantile(
      span.map(({ ttftMs }) => ttftMs).sort((a, b) => a - b),
      0.5,
    );
  });
}
