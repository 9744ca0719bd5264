import { spawn } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";
import type { Load } from "../bench/load.ts";

/** Posts prompts of which none comes twice for some seconds, on one thread. */
export function postDistinct(
  port: number,
  options: { bytes: number; seconds: number; epoch: number; connections: number },
): Promise<Load> {
  const { bytes, seconds, epoch, connections } = options;
  const script = join(ROOT, "tests", "soak", "distinct.lua");
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s", "-s", script];
  return new Promise((resolve, reject) => {
    const child = spawn("wrk", [...args, `http://127.0.0.1:${port}`], {
      env: { ...process.env, SOAK_BYTES: String(bytes), SOAK_EPOCH: String(epoch) },
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
