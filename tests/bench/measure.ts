import { spawn } from "node:child_process";
import { ROOT } from "../../tools/paths.ts";
import { tethered } from "../../tools/tether.ts";
import type { Contender } from "./contender.ts";
import { type BodyFolder, load } from "./load.ts";
import type { Measured, Setting } from "./report.ts";

/** The router has one core; load generator and backend have the other. */
const ROUTER_CORE = 0;
const LOAD_CORE = 1;
const WARM_UP_SECONDS = 1;

/** Starts a router, warms it up, loads it, stops it. */
export async function measure(
  contender: Contender,
  hosts: string[],
  bodies: BodyFolder,
  options: { setting: Setting; round: number; seconds: number; connections: number },
): Promise<Measured> {
  const { setting, round, seconds, connections } = options;
  const running = await contender.start({ hosts, core: ROUTER_CORE });
  try {
    await load(running.port, bodies, { seconds: WARM_UP_SECONDS, connections, core: LOAD_CORE });
    const cpuBefore = running.cpuMs();
    const result = await load(running.port, bodies, { seconds, connections, core: LOAD_CORE });
    const cpuMs = running.cpuMs() - cpuBefore;
    return {
      ...result,
      ...setting,
      name: contender.name,
      round,
      requestsPerSecond: result.requests / result.seconds,
      cpuUs: (cpuMs * 1000) / result.requests,
      busy: cpuMs / (result.seconds * 1000),
      residentBytes: running.residentBytes(),
    };
  } finally {
    await running.stop();
  }
}

/** Starts the backend on the load's core; resolves with its `ip:port`s once it listens. */
export async function startBackend(
  count: number,
): Promise<{ hosts: string[]; stop: () => Promise<void> }> {
  const node = [process.execPath, "--import", "tsx", "tests/bench/backend.ts", String(count)];
  const [command = "", ...args] = tethered(["taskset", "-c", String(LOAD_CORE), ...node]);
  const child = spawn(command, args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => child.kill("SIGKILL"));
  const stop = () =>
    new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.kill("SIGTERM");
    });
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once("data", (chunk) => resolve(Number(String(chunk))));
    child.once("exit", (code) => reject(new Error(`the backend ended with ${code}`)));
  });
  const hosts = Array.from({ length: count }, (_unused, i) => `127.0.0.${i + 1}:${port}`);
  return { hosts, stop };
}
