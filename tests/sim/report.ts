import type { SimOptions } from "./options.ts";
import type { Summary } from "./summary.ts";

/** All policies at one rate. */
export interface RateRun {
  rate: number;
  policies: Record<string, Summary>;
}

/** What `--json` holds. */
export interface Report {
  trace: string;
  workload: string;
  servers: number;
  gateways: number;
  rate: number;
  seed: number;
  half: string;
  slo: { ttft_ms: number; tpot_ms: number; prefill_factor: number };
  /** At the first rate. */
  policies: Record<string, Summary>;
  /** At each rate, the first included. */
  rates: RateRun[];
}

export function makeReport(
  options: SimOptions,
  workload: string,
  rates: readonly { rate: number; summaries: readonly Summary[] }[],
): Report {
  const runs = rates.map(({ rate, summaries }) => ({
    rate,
    policies: Object.fromEntries(summaries.map((summary) => [summary.policy, summary])),
  }));
  return {
    trace: options.trace,
    workload,
    servers: options.servers,
    gateways: options.gateways,
    rate: options.rates[0] ?? 1,
    seed: options.seed,
    half: options.half,
    slo: {
      ttft_ms: options.slo.ttftMs,
      tpot_ms: options.slo.tpotMs,
      prefill_factor: options.slo.prefillFactor,
    },
    policies: runs[0]?.policies ?? {},
    rates: runs,
  };
}
