import { type RunOptions, runPolicy } from "./run.ts";
import { type Slo, type Summary, summarise } from "./summary.ts";
import { atRate, type Workload } from "./workload.ts";

const LOWEST_RATE = 1 / 64;
const HIGHEST_RATE = 64;
const STEPS = 9;

/** Runs `policy` at a rate. */
export function summaryAt(
  policy: string,
  workload: Workload,
  rate: number,
  options: RunOptions,
  slo: Slo,
): Summary {
  return summarise(runPolicy(policy, atRate(workload, rate), options), slo);
}

/**
 * The highest rate at which `policy` still serves `share` of the requests within the goals, to 1 %
 * or so; the highest rate tried where it never fails to.
 */
export function capacity(
  policy: string,
  workload: Workload,
  share: number,
  options: RunOptions,
  slo: Slo,
  startRate = 1,
): number {
  const holds = (rate: number): boolean =>
    summaryAt(policy, workload, rate, options, slo).goodput_share >= share;
  let low = startRate;
  let high = startRate;
  if (holds(startRate)) {
    do {
      low = high;
      high *= 2;
      if (high > HIGHEST_RATE) return low;
    } while (holds(high));
  } else {
    do {
      high = low;
      low /= 2;
      if (low < LOWEST_RATE) return low;
    } while (!holds(low));
  }
  for (let step = 0; step < STEPS && high / low > 1.01; step += 1) {
    const middle = Math.sqrt(low * high);
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}
