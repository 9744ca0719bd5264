import { type RunOptions, runPolicy } from "./run.ts";
import { type Slo, type Summary, summarise } from "./summary.ts";
import { atRate, countSessions, firstSessions, type Workload } from "./workload.ts";

const LOWEST_RATE = 1 / 64;
const HIGHEST_RATE = 64;
const STEPS = 9;

/** Runs `policy` at a rate. */
function summaryAt(
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

/** Sessions of a closed loop begin this much faster than they would: all are there within a minute or so. */
const TOGETHER_RATE = 64;
/** Users are told apart to this ratio. */
const USERS_RATIO = 1.04;

/**
 * The most users at once whom `policy` still serves `share` of the requests within the goals. In a closed loop a user waits
 * for an answer, so arrivals never outrun the servers and no rate saturates them: more users do.
 *
 * @param load the workload with at least so many requests
 * @param startUsers where the search begins
 */
export function userCapacity(
  policy: string,
  load: (requests: number) => Workload,
  share: number,
  options: RunOptions,
  slo: Slo,
  startUsers = 32,
): number {
  let workload = load(1);
  const withUsers = (users: number): Workload => {
    while (countSessions(workload) < users) workload = load(2 * workload.requests.length);
    return firstSessions(workload, users);
  };
  const holds = (users: number): boolean =>
    summaryAt(policy, withUsers(users), TOGETHER_RATE, options, slo).goodput_share >= share;
  let low = startUsers;
  let high = startUsers;
  if (holds(startUsers)) {
    do {
      low = high;
      high *= 2;
    } while (holds(high));
  } else {
    do {
      high = low;
      low = Math.floor(low / 2);
      if (low < 1) return 0;
    } while (!holds(low));
  }
  while (high - low > 1 && high / low > USERS_RATIO) {
    const middle = Math.round(Math.sqrt(low * high));
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}
