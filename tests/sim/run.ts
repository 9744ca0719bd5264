import type { RunResult } from "./outcome.ts";
import type { PeerNetwork, PeerTally } from "./peers.ts";
import { BASELINES } from "./policies/index.ts";
import { warmroute } from "./policies/warmroute.ts";
import type { PolicyFactory } from "./policy.ts";
import type { Workload, WorkRequest } from "./workload.ts";
import { World, type WorldOptions } from "./world.ts";

export interface RunOptions extends WorldOptions {
  /** Worker threads of each warmroute gateway. */
  workers: number;
  /** Laid over warmroute's configuration. */
  config: object;
  /** What clients send to warmroute besides. */
  headers?: (request: WorkRequest) => [string, string][];
  /** What goes wrong between warmroute's gateways, and what they sent each other. */
  network?: PeerNetwork;
  tally?: PeerTally;
}

/** One gateway of two workers before eight servers, all well, but for what is laid over. */
export function runOptions(over: Partial<RunOptions>): RunOptions {
  const world = { servers: 8, gateways: 1, seed: 1, engine: {}, slow: new Map(), outages: [] };
  return { ...world, workers: 2, config: {}, ...over };
}

/** Runs one policy over a workload. */
export function runPolicy(name: string, workload: Workload, options: RunOptions): RunResult {
  let factory: PolicyFactory | undefined = BASELINES[name];
  if (name === "warmroute") factory = warmroute(options);
  if (factory === undefined) throw new RangeError(`no policy ${name}`);
  return new World(name, factory, workload, options).run();
}
