import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";

/** What the load generator measured. */
export interface Load {
  requests: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers that were not 2xx or 3xx. */
  failed: number;
  /** Connections, reads and writes that failed. */
  refused: number;
}

/** Whether wrk is there; else what to do. */
export function loadGeneratorMissing(): string | undefined {
  return spawnSync("wrk", ["-v"]).error === undefined
    ? undefined
    : "wrk is not installed (Debian and Ubuntu: apt-get install wrk; macOS: brew install wrk)";
}

/**
 * Runs wrk on one thread with a script, on a core of its own if one is named. The script prints what was measured by
 * loading the file that `WRK_RESULT` names.
 */
export function runWrk(
  port: number,
  script: string,
  options: {
    seconds: number;
    connections: number;
    core?: number;
    env: Record<string, string>;
  },
): Promise<Load> {
  const { seconds, connections, core, env } = options;
  const wrk = ["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s", "-s", script];
  const pinned = core === undefined ? wrk : ["taskset", "-c", String(core), ...wrk];
  const [command = "", ...args] = [...pinned, `http://127.0.0.1:${port}`];
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env, WRK_RESULT: join(ROOT, "tests", "bench", "result.lua") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.on("error", reject);
    child.on("close", () => {
      const result = /^RESULT (.*)$/m.exec(output)?.[1];
      if (result === undefined) reject(new Error(`wrk says: ${output}`));
      else resolve(JSON.parse(result) as Load);
    });
  });
}
