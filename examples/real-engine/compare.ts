import { type EnvoyOptions, startEnvoy } from "../../tools/envoy/process.ts";
import type { Stats } from "../../tools/envoy/stats.ts";
import { drive, type Outcome, type Progress } from "../../tools/start/drive.ts";
import { type ListeningProgram, startListening } from "../../tools/start/fleet.ts";
import { conversations } from "./conversations.ts";

export const SERVERS = 2;
/** Conversations that one server's KV cache holds, and how many tokens of each. */
export const SLOTS = 4;
const SLOT_TOKENS = 1024;
/** More than one server holds, fewer than both together. */
export const CONVERSATIONS = 5;
const ANSWER_TOKENS = 12;
/** No run takes longer than this, in milliseconds. */
const LIMIT_MS = 240_000;

/** What came of the conversations behind one kind of routing. */
export interface Run {
  name: string;
  outcomes: Outcome[];
  totalMs: number;
  /** Envoy's statistics at the end. */
  stats: Stats;
}

/**
 * llama.cpp doesn't report how much its cache holds. And the defaults are those of a GPU: a CPU core
 * is some seventy times as slow, which the filter would have to learn first.
 */
const COST = {
  cache_capacity_tokens: SLOTS * SLOT_TOKENS,
  prefill_ms_per_token: 4,
  decode_step_ms: 20,
  decode_ms_per_sequence: 10,
};

/** The two that are compared: Envoy's round robin, and the same Envoy with the filter. */
const ROUTINGS: [name: string, options: (hosts: string[]) => Partial<EnvoyOptions>][] = [
  ["Envoy round robin", () => ({ wasm: false, fallback: "round_robin" })],
  ["warmroute", (hosts) => ({ configuration: { hosts, cost: COST } })],
];

/** Leads the same conversations behind each routing, with new servers each time. */
export async function compare(say: (line: string) => void): Promise<Run[]> {
  const runs: Run[] = [];
  for (const [name, options] of ROUTINGS) {
    say(`${name}: ${CONVERSATIONS} conversations on ${SERVERS} servers`);
    runs.push(await run(name, options));
  }
  return runs;
}

async function run(
  name: string,
  options: (hosts: string[]) => Partial<EnvoyOptions>,
): Promise<Run> {
  const servers: ListeningProgram[] = [];
  try {
    for (let i = 0; i < SERVERS; i++) servers.push(await startServer());
    const hosts = servers.flatMap((server) => server.hosts);
    const envoy = await startEnvoy({ hosts, ...options(hosts) });
    try {
      const progress: Progress = { outcomes: [], inFlight: 0 };
      const startMs = performance.now();
      const planned = conversations(CONVERSATIONS, ANSWER_TOKENS);
      await drive(
        [{ host: "127.0.0.1", port: envoy.port }],
        planned,
        progress,
        startMs,
        AbortSignal.timeout(LIMIT_MS),
      );
      const totalMs = performance.now() - startMs;
      return { name, outcomes: progress.outcomes, totalMs, stats: await envoy.stats() };
    } finally {
      await envoy.stop();
    }
  } finally {
    for (const { child } of servers) child.kill("SIGTERM");
  }
}

function startServer(): Promise<ListeningProgram> {
  const size = ["--slots", String(SLOTS), "--slot-tokens", String(SLOT_TOKENS)];
  return startListening(["examples/real-engine/server.ts", ...size]);
}
