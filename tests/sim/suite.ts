/** What the comparisons over many workloads have in common: which, how much of each, and at what rate servers are saturated. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Half } from "./options.ts";
import type { RunOptions } from "./run.ts";
import { capacity } from "./saturate.ts";
import { DEFAULT_SLO } from "./summary.ts";
import { findTrace, loadWorkload } from "./trace.ts";
import { half, type Workload } from "./workload.ts";

const WORKLOADS = [
  "mooncake_conversation_10min",
  "azure2023_code",
  "agentic_coding_sessions_100",
  "generated:multi-tenant-chat",
  "generated:heavy-light",
  "generated:tool-agents",
  "generated:hot-prefix",
  "generated:retrieval",
];

/** Saturation takes a dozen runs; it is kept here between comparisons. */
const SATURATION_FILE = fileURLToPath(new URL("../../build/saturation.json", import.meta.url));

/** What is taken of a workload. */
export interface Part {
  /** Of traces; generators take the seeds instead. */
  half: Half;
  /** How many a generator makes. */
  requests: number;
}

/** The workloads of a list with commas, or all; traces that aren't there are left out. */
export function workloadNames(list: string | undefined): string[] {
  return (list?.split(",") ?? WORKLOADS).filter(
    (name) => name.startsWith("generated:") || findTrace(name) !== undefined,
  );
}

/** A JSON file that is laid over warmroute's configuration. */
export function readConfig(file: string | undefined): object {
  return file ? (JSON.parse(readFileSync(file, "utf8")) as object) : {};
}

export function loadPart(name: string, seed: number, part: Part): Workload {
  // A closed loop of too few sessions is no load.
  const requests = name.startsWith("agentic") ? 3 * part.requests : part.requests;
  const workload = loadWorkload(name, { seed, requests });
  if (name.startsWith("generated:") || part.half === "all") return workload;
  return half(workload, part.half);
}

/** The rate at which least_request still serves half of the requests within the goals, behind one gateway. */
export function saturation(name: string, part: Part, options: RunOptions): number {
  const known: Record<string, number> = existsSync(SATURATION_FILE)
    ? (JSON.parse(readFileSync(SATURATION_FILE, "utf8")) as Record<string, number>)
    : {};
  const { seed, servers } = options;
  const key = `${name} ${part.half} ${seed} ${servers} ${part.requests}`;
  let rate = known[key];
  if (rate === undefined) {
    const workload = loadPart(name, seed, part);
    rate = capacity("least_request", workload, 0.5, { ...options, gateways: 1 }, DEFAULT_SLO);
    known[key] = rate;
    writeFileSync(SATURATION_FILE, `${JSON.stringify(known, null, 2)}\n`);
  }
  return rate;
}
