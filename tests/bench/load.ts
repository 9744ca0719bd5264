import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";
import { chatBodies } from "./bodies.ts";

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

/** Bodies written to a folder, for the load generator to read. */
export interface BodyFolder {
  folder: string;
  count: number;
  bytes: number;
  stream: boolean;
  remove(): void;
}

/** All bodies of a size together stay under this. */
const BODIES_BYTES = 32 * 1024 * 1024;

export function writeBodies(bytes: number, seed: number, stream: boolean): BodyFolder {
  const folder = mkdtempSync(join(tmpdir(), "warmroute-bodies-"));
  const count = Math.max(8, Math.min(256, Math.floor(BODIES_BYTES / bytes)));
  chatBodies(count, bytes, seed, stream).forEach((body, i) => {
    writeFileSync(join(folder, `${i}.json`), body);
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, count, bytes, stream, remove };
}

/** Whether wrk is there; else what to do. */
export function loadGeneratorMissing(): string | undefined {
  return spawnSync("wrk", ["-v"]).error === undefined
    ? undefined
    : "wrk is not installed (Debian and Ubuntu: apt-get install wrk; macOS: brew install wrk)";
}

/** Posts bodies to a port over kept connections for some seconds, on one core. */
export function load(
  port: number,
  bodies: BodyFolder,
  options: { seconds: number; connections: number; core: number },
): Promise<Load> {
  const script = join(ROOT, "tests", "bench", "load.lua");
  const { seconds, connections, core } = options;
  const command = ["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s"];
  const args = ["-c", String(core), ...command, "-s", script, `http://127.0.0.1:${port}`];
  return new Promise((resolve, reject) => {
    const child = spawn("taskset", args, {
      env: {
        ...process.env,
        BENCH_BODIES: bodies.folder,
        BENCH_COUNT: String(bodies.count),
        BENCH_STREAM: bodies.stream ? "1" : "0",
      },
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
