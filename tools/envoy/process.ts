import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tethered } from "../tether.ts";
import { type EnvoyCommand, findEnvoy } from "./find.ts";
import { freePorts } from "./ports.ts";
import { type BootstrapOptions, renderBootstrap } from "./render.ts";
import { Stats } from "./stats.ts";

/** How long Envoy may take to get ready, and to end after SIGTERM, in milliseconds. */
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 8_000;

/** Tries with other ports when another program took one in between. */
const BIND_ATTEMPTS = 4;

export interface EnvoyOptions extends Omit<BootstrapOptions, "listenerPort" | "adminPort"> {
  /** Worker threads, `--concurrency`; 1 by default. */
  workers?: number;
  /** Only this version of Envoy; any usable one by default. */
  version?: string;
  /** Fixed ports; free ones by default. */
  listenerPort?: number;
  adminPort?: number;
  /** Runs on this core alone, through `taskset`. */
  core?: number;
  /** Envoy's log level; `warning` by default. */
  logLevel?: string;
  /** A last change to the bootstrap's text. */
  edit?: (yaml: string) => string;
  /** Further arguments for Envoy. */
  args?: string[];
  /** Environment variables beside those of this process. */
  env?: Record<string, string>;
  /** How long what is replaced may go on with its streams, in seconds; 1 by default. */
  drainSeconds?: number;
  /** Takes part in hot restarts: several Envoys with one `baseId`, each with the next `epoch` (0, 1, …). None by default. */
  hotRestart?: { baseId: number; epoch: number };
}

const running = new Set<EnvoyProcess>();

/** Starts Envoy on the shipped bootstrap and waits until it serves. */
export async function startEnvoy(options: EnvoyOptions): Promise<EnvoyProcess> {
  const envoy = findEnvoy(options.version);
  for (let attempt = 1; ; attempt++) {
    const [listenerPort = 0, adminPort = 0] = await freePorts(2);
    const started = new EnvoyProcess(envoy, { listenerPort, adminPort, ...options });
    try {
      await started.ready();
      return started;
    } catch (error) {
      const taken = started.log().includes("Address already in use");
      await started.stop();
      if (!taken || attempt === BIND_ATTEMPTS) throw error;
    }
  }
}

/** Whether Envoy accepts the bootstrap, and what it says: `--mode validate`. */
export function validate(options: EnvoyOptions): { ok: boolean; output: string } {
  const envoy = findEnvoy(options.version);
  const folder = mkdtempSync(join(tmpdir(), "warmroute-validate-"));
  try {
    const path = join(folder, "envoy.yaml");
    const yaml = renderBootstrap({
      listenerPort: 10_000,
      adminPort: 9901,
      accessLog: "/dev/null",
      ...options,
    });
    writeFileSync(path, options.edit?.(yaml) ?? yaml);
    const args = [...envoy.prefix, "--mode", "validate", "-l", "warning", "-c", path];
    const output = execFileSync(envoy.command, args, { encoding: "utf8", stdio: "pipe" });
    return { ok: true, output };
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return { ok: false, output: `${stdout}${stderr}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A running Envoy with a folder of its own for configuration and logs. */
export class EnvoyProcess {
  readonly port: number;
  readonly adminPort: number;
  readonly folder = mkdtempSync(join(tmpdir(), "warmroute-envoy-"));
  readonly #child: ChildProcess;
  #ended = false;

  constructor(
    envoy: EnvoyCommand,
    options: EnvoyOptions & { listenerPort: number; adminPort: number },
  ) {
    this.port = options.listenerPort;
    this.adminPort = options.adminPort;
    const yaml = renderBootstrap({ accessLog: join(this.folder, "access.log"), ...options });
    const config = join(this.folder, "envoy.yaml");
    writeFileSync(config, options.edit?.(yaml) ?? yaml);
    const drainSeconds = options.drainSeconds ?? 1;
    const args = [
      ...envoy.prefix,
      ...["-c", config, "--concurrency", String(options.workers ?? 1)],
      ...restartArgs(options.hotRestart),
      ...["--drain-time-s", `${drainSeconds}`, "--parent-shutdown-time-s", `${drainSeconds + 1}`],
      ...["--file-flush-interval-msec", "100"],
      ...["-l", options.logLevel ?? "warning", "--log-path", join(this.folder, "envoy.log")],
      ...(options.args ?? []),
    ];
    const pinned = options.core === undefined ? [] : ["taskset", "-c", String(options.core)];
    const [command = "", ...rest] = tethered([...pinned, envoy.command, ...args]);
    this.#child = spawn(command, rest, {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, ...options.env },
    });
    this.#child.stderr?.on("data", (chunk) => {
      this.#stderr += chunk;
    });
    this.#child.once("exit", () => {
      this.#ended = true;
    });
    this.#child.once("error", (error) => {
      this.#stderr += error.message;
      this.#ended = true;
    });
    running.add(this);
    cleanUpAtExit();
  }

  #stderr = "";

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What it ended with; null while it runs, or when a signal ended it. */
  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  get alive(): boolean {
    return !this.#ended;
  }

  /** Waits until the listener serves. */
  async ready(): Promise<void> {
    const deadline = Date.now() + READY_TIMEOUT_MS;
    for (;;) {
      if (this.#ended) throw new Error(`Envoy ended while starting:\n${this.log().slice(-4000)}`);
      const answer = await fetch(`http://127.0.0.1:${this.adminPort}/ready`).catch(() => null);
      if (answer?.status === 200) return;
      if (Date.now() > deadline) throw new Error(`Envoy is not ready:\n${this.log().slice(-4000)}`);
      await sleep(30);
    }
  }

  /** Envoy's own log so far. */
  log(): string {
    return readIfThere(join(this.folder, "envoy.log")) + this.#stderr;
  }

  /** The lines of the access log so far; `wait` of them are waited for, 20 s at most. */
  async accessLog(wait = 0): Promise<Record<string, string | number | null>[]> {
    const path = join(this.folder, "access.log");
    for (let waitedMs = 0; ; waitedMs += 50) {
      const text = readIfThere(path);
      const lines = text
        .slice(0, text.lastIndexOf("\n") + 1)
        .split("\n")
        .filter(Boolean);
      if (lines.length >= wait || waitedMs > 20_000) return lines.map((line) => JSON.parse(line));
      await sleep(50);
    }
  }

  /** A GET to the admin interface. */
  async admin(path: string): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${this.adminPort}${path}`);
    return await answer.text();
  }

  async stats(): Promise<Stats> {
    return new Stats(await this.admin("/stats/prometheus"));
  }

  /** CPU time used so far, user and system, in milliseconds (Linux). */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    const TICKS_PER_SECOND = 100;
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
  }

  /** Resident memory now, in bytes (Linux). */
  residentBytes(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1024;
  }

  /** Ends it and removes its folder. */
  async stop(): Promise<void> {
    if (!this.#ended) {
      const ended = new Promise((resolve) => this.#child.once("exit", resolve));
      this.#child.kill("SIGTERM");
      const late = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(late);
    }
    running.delete(this);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Ends it at once, for the end of this program. */
  kill(): void {
    if (!this.#ended) this.#child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Without hot restarts no memory is shared between Envoys: several run side by side and leave nothing behind. */
function restartArgs(hotRestart: EnvoyOptions["hotRestart"]): string[] {
  if (hotRestart === undefined) return ["--disable-hot-restart"];
  const { baseId, epoch } = hotRestart;
  return ["--base-id", String(baseId), "--restart-epoch", String(epoch)];
}

let cleaning = false;

/** However this program ends, its Envoys end with it. */
function cleanUpAtExit(): void {
  if (cleaning) return;
  cleaning = true;
  process.on("exit", () => {
    for (const envoy of running) envoy.kill();
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // A program with a handler of its own ends itself; the exit handler does the rest.
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(130);
    });
  }
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
