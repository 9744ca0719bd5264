import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { tethered } from "../../tools/tether.ts";

const TICKS_PER_SECOND = 100;

/** CPU time that a process used so far, user and system, in milliseconds (Linux). */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/** Resident memory of a process now, in bytes (Linux). */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1024;
}

/** A program on one core that ends with this one; its output is kept for when it fails. */
export interface Started {
  pid: number;
  child: ChildProcess;
  output(): string;
  ended(): boolean;
  stop(): Promise<void>;
}

/** How long a program may take to end after SIGTERM, in milliseconds. */
const STOP_TIMEOUT_MS = 500;
const OUTPUT_CHARACTERS = 8000;

export function startOn(core: number, command: string[], env: NodeJS.ProcessEnv = {}): Started {
  const [program = "", ...args] = tethered(["taskset", "-c", String(core), ...command]);
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let ended = false;
  const take = (chunk: Buffer) => (output = (output + chunk).slice(-OUTPUT_CHARACTERS));
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  child.once("error", (error) => {
    output += error.message;
    ended = true;
  });
  child.once("exit", () => (ended = true));
  const stop = async () => {
    if (ended) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    // Some wait for connections that nobody needs any more.
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await gone;
    clearTimeout(late);
  };
  return { pid: child.pid ?? 0, child, output: () => output, ended: () => ended, stop };
}
