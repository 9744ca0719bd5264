import type { WorkRequest } from "./workload.ts";

/** What a policy expected of a request when it chose. */
export interface Prediction {
  promptTokens: number;
  outputTokens: number;
}

/** What became of one request. */
export interface Outcome {
  request: WorkRequest;
  gateway: number;
  /** The server that answered; −1 for none. */
  server: number;
  arrivedMs: number;
  firstTokenMs: number;
  finishedMs: number;
  cachedTokens: number;
  /** Of policies that say so. */
  predicted?: Prediction;
  /** Attempts that failed before. */
  failures: number;
  state: "open" | "done" | "rejected" | "failed";
}

/** Requests per server at one moment. */
export interface LoadSample {
  atMs: number;
  running: number[];
  waiting: number[];
}

/** One policy's run over one workload. */
export interface RunResult {
  policy: string;
  servers: number;
  gateways: number;
  outcomes: Outcome[];
  loads: LoadSample[];
  /** Time that each server spent in steps. */
  busyMs: number[];
  /** How long the simulation took, wall clock. */
  wallMs: number;
}
