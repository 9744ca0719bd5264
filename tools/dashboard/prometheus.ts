import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "../envoy/ports.ts";
import { cacheFolder } from "../pip.ts";
import { tethered } from "../tether.ts";

/** Where `.ci/run` unpacks Debian's package. */
const UNPACKED = join(cacheFolder(), "prometheus", "usr", "bin");

/** A program of Prometheus, `prometheus` or `promtool`: in $PROMETHEUS_BIN, on the PATH, or unpacked; undefined where there is none. */
export function findPrometheus(program: "prometheus" | "promtool"): string | undefined {
  return [process.env.PROMETHEUS_BIN ?? "", ...(process.env.PATH ?? "").split(delimiter), UNPACKED]
    .filter(Boolean)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));
}

export const MISSING = "no Prometheus: install it, or set PROMETHEUS_BIN to its folder";

/** How long Prometheus may take to answer, in milliseconds. */
const READY_TIMEOUT_MS = 20_000;

/** A point of a series: seconds since 1970, value. */
export type Point = [atSeconds: number, value: number];

export interface Answer {
  labels: Record<string, string>;
  points: Point[];
}

/** A Prometheus of its own, on loopback, with its data in a folder that goes with it. */
export class Prometheus {
  readonly #port: number;
  readonly #folder: string;
  readonly #child: ChildProcess;
  #log = "";

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.#port = port;
    this.#folder = folder;
    this.#child = child;
    const take = (chunk: Buffer) => {
      this.#log += chunk;
    };
    child.stderr?.on("data", take);
    child.once("error", (error) => take(Buffer.from(error.message)));
    process.once("exit", () => this.#end());
  }

  /** Starts `program` with a configuration, written as JSON, which is YAML too. */
  static async start(program: string, configuration: object): Promise<Prometheus> {
    const [port = 0] = await freePorts(1);
    const folder = mkdtempSync(join(tmpdir(), "warmroute-prometheus-"));
    const config = join(folder, "prometheus.yaml");
    writeFileSync(config, JSON.stringify(configuration));
    const [command = "", ...args] = tethered([
      program,
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
    const prometheus = new Prometheus(port, folder, child);
    const deadline = Date.now() + READY_TIMEOUT_MS;
    for (;;) {
      const ready = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined);
      if (ready?.status === 200) return prometheus;
      if (child.exitCode !== null || Date.now() > deadline) {
        await prometheus.stop();
        throw new Error(`Prometheus does not start:\n${prometheus.#log.slice(-2000)}`);
      }
      await sleep(50);
    }
  }

  /** Evaluates a query once a second between two times, in seconds since 1970. */
  async range(query: string, from: number, to: number): Promise<Answer[]> {
    const asked = new URLSearchParams({ query, start: `${from}`, end: `${to}`, step: "1" });
    const answer = await fetch(`http://127.0.0.1:${this.#port}/api/v1/query_range?${asked}`);
    const said = (await answer.json()) as {
      error?: string;
      data?: { result: { metric: Record<string, string>; values: [number, string][] }[] };
    };
    if (said.data === undefined) throw new Error(`${query}: ${said.error}`);
    return said.data.result.map(({ metric, values }) => ({
      labels: metric,
      points: values.map(([at, value]) => [at, Number(value)]),
    }));
  }

  /** The value of each series that a query gives now. */
  async now(query: string): Promise<{ labels: Record<string, string>; value: number }[]> {
    const at = Date.now() / 1000;
    const answers = await this.range(query, at, at);
    return answers.map(({ labels, points }) => ({
      labels,
      value: points.at(-1)?.[1] ?? Number.NaN,
    }));
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.pid !== undefined) {
      const ended = new Promise((resolve) => this.#child.once("exit", resolve));
      this.#end();
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #end(): void {
    this.#child.kill("SIGKILL");
  }
}
