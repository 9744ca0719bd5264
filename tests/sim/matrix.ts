import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { commandLine, MAX_SEED, number, oneOf, parts, whole } from "../../tools/commandline.ts";
import {
  HALVES,
  LEAST_RATE,
  MOST_GATEWAYS,
  MOST_RATE,
  MOST_SERVERS,
  policyNames,
} from "./options.ts";
import { geometricMeans, PERCENTILES, type Percentile } from "./ratios.ts";
import { type RunOptions, runOptions, runPolicy } from "./run.ts";
import { capacity, userCapacity } from "./saturate.ts";
import { loadPart, type Part, readConfig, saturation, workloadNames } from "./suite.ts";
import { DEFAULT_SLO, type Summary, summarise } from "./summary.ts";
import { atRate, isClosed, type Workload } from "./workload.ts";

const HELP = `Compares policies over workloads and loads, as ratios to the oracle and the best baseline.

  --workloads A,B   as --trace of the simulator takes them
  --policies A,B    (warmroute and all baselines)
  --half HALF       of traces: first, second or all (second); generators take the seeds instead
  --seeds S,T       (2,3)
  --loads L,M       shares of least_request's saturation (0.65,0.9)
  --gateways G      (1)
  --servers N       (8)
  --requests N      of generators (4000)
  --config FILE     laid over warmroute's configuration
  --capacity A,B    also finds the rate at which these policies serve 90 % within the goals; users at once in closed loops
  --json OUT
`;

interface Cell {
  workload: string;
  load: number;
  rate: number;
  /** Mean over the seeds. */
  policies: Record<string, Summary>;
}

interface Settings extends Part {
  workloads: string[];
  policies: string[];
  seeds: number[];
  loads: number[];
  gateways: number;
  servers: number;
  config: object;
  capacity: string[];
}

function optionsOf(seed: number, { servers, gateways, config }: Settings): RunOptions {
  return runOptions({ seed, servers, gateways, config });
}

function runCell(name: string, share: number, rate: number, settings: Settings): Cell {
  const policies: Record<string, Summary> = {};
  for (const policy of settings.policies) {
    const summaries = settings.seeds.map((seed) => {
      const workload = atRate(loadPart(name, seed, settings), rate);
      return summarise(runPolicy(policy, workload, optionsOf(seed, settings)), DEFAULT_SLO);
    });
    policies[policy] = mean(summaries);
  }
  return { workload: name, load: share, rate, policies };
}

/** As a rate, or as users at once where they wait for answers. */
function capacityOf(
  name: string,
  policy: string,
  seed: number,
  startRate: number,
  settings: Settings,
): number {
  const workload = loadPart(name, seed, settings);
  const options = optionsOf(seed, settings);
  if (!isClosed(workload)) return capacity(policy, workload, 0.9, options, DEFAULT_SLO, startRate);
  const grow = (requests: number): Workload =>
    loadPart(name, seed, { half: settings.half, requests });
  return userCapacity(policy, grow, 0.9, options, DEFAULT_SLO);
}

/** Field by field. */
function mean(summaries: readonly Summary[]): Summary {
  const average = (values: readonly unknown[]): unknown => {
    const [first] = values;
    if (typeof first === "number") {
      return (values as number[]).reduce((sum, value) => sum + value, 0) / values.length;
    }
    if (typeof first !== "object" || first === null) return first;
    return Object.fromEntries(
      Object.keys(first).map((key) => [
        key,
        average(values.map((value) => (value as Record<string, unknown>)[key])),
      ]),
    );
  };
  return average(summaries) as Summary;
}

/** The lowest of the baselines, for each percentile by itself. */
function best(cell: Cell, percentile: Percentile): number {
  const values = Object.entries(cell.policies)
    .filter(([name]) => name !== "warmroute" && name !== "oracle")
    .map(([, summary]) => summary.ttft_ms[percentile]);
  return Math.min(...values);
}

function ratios(cell: Cell, other: (percentile: Percentile) => number | undefined): number[] {
  const own = cell.policies.warmroute;
  return PERCENTILES.map((p) => (own?.ttft_ms[p] ?? Number.NaN) / (other(p) ?? Number.NaN));
}

function show(values: readonly number[]): string {
  return values.map((value) => value.toFixed(2)).join(" / ");
}

function print(cells: readonly Cell[]): void {
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  for (const cell of cells) {
    write(`\n${cell.workload} at ${cell.load} of saturation (rate ${cell.rate.toFixed(2)})`);
    for (const [name, s] of Object.entries(cell.policies)) {
      const ttft = PERCENTILES.map((p) => s.ttft_ms[p].toFixed(0).padStart(7)).join("");
      const cached = (100 * s.cached_token_share).toFixed(1).padStart(6);
      const good = (100 * s.goodput_share).toFixed(1).padStart(6);
      const refused = s.rejected + s.failed;
      write(
        `  ${name.padEnd(14)} ttft ${ttft}  cached ${cached} %  good ${good} %  ` +
          `busiest ${s.busiest_over_mean.toFixed(2)}  refused ${refused}`,
      );
    }
    if (cell.policies.warmroute === undefined) continue;
    write(`  warmroute over oracle ${show(ratios(cell, (p) => cell.policies.oracle?.ttft_ms[p]))}`);
    write(`  warmroute over best   ${show(ratios(cell, (p) => best(cell, p)))}`);
    write(`  warmroute over epp    ${show(ratios(cell, (p) => cell.policies.epp?.ttft_ms[p]))}`);
  }
  if (cells.every((cell) => cell.policies.warmroute === undefined)) return;
  const loads = [...new Set(cells.map((cell) => cell.load))];
  for (const share of loads) {
    const at = cells.filter((cell) => cell.load === share);
    for (const [title, other] of [
      ["oracle", (cell: Cell, p: Percentile) => cell.policies.oracle?.ttft_ms[p]],
      ["best", best],
      ["epp", (cell: Cell, p: Percentile) => cell.policies.epp?.ttft_ms[p]],
    ] as const) {
      const all = at.map((cell) => ratios(cell, (p) => other(cell, p)));
      const means = geometricMeans(all);
      write(`\nload ${share}: warmroute over ${title}, geometric mean ${show(means)}`);
    }
  }
}

function readSettings(args: string[]): Settings & { json: string | undefined } {
  const { values } = parseArgs({
    args,
    options: {
      workloads: { type: "string" },
      policies: { type: "string", default: "all" },
      half: { type: "string", default: "second" },
      seeds: { type: "string", default: "2,3" },
      loads: { type: "string", default: "0.65,0.9" },
      gateways: { type: "string", default: "1" },
      servers: { type: "string", default: "8" },
      requests: { type: "string", default: "4000" },
      config: { type: "string" },
      capacity: { type: "string" },
      json: { type: "string" },
    },
  });
  return {
    workloads: workloadNames(values.workloads),
    policies: policyNames("--policies", values.policies),
    half: oneOf("--half", values.half, HALVES),
    seeds: parts(values.seeds).map((seed) => whole("--seeds", seed, 0, MAX_SEED)),
    loads: parts(values.loads).map((load) => number("--loads", load, LEAST_RATE, MOST_RATE)),
    gateways: whole("--gateways", values.gateways, 1, MOST_GATEWAYS),
    servers: whole("--servers", values.servers, 1, MOST_SERVERS),
    requests: whole("--requests", values.requests, 1, 1e9),
    config: readConfig(values.config),
    capacity: values.capacity === undefined ? [] : policyNames("--capacity", values.capacity),
    json: values.json,
  };
}

function main(): void {
  const { json, ...settings } = commandLine(HELP, readSettings);
  const cells: Cell[] = [];
  const capacities: Record<string, Record<string, number>> = {};
  for (const name of settings.workloads) {
    const [seed = 1] = settings.seeds;
    const saturated = saturation(name, settings, optionsOf(seed, settings));
    for (const share of settings.loads) {
      process.stderr.write(`${name} at ${share}\n`);
      cells.push(runCell(name, share, share * saturated, settings));
    }
    for (const policy of settings.capacity) {
      capacities[name] ??= {};
      capacities[name][policy] = capacityOf(name, policy, seed, saturated, settings);
    }
  }
  print(cells);
  for (const [name, rates] of Object.entries(capacities)) {
    const text = Object.entries(rates).map(([policy, rate]) => `${policy} ${rate.toFixed(2)}`);
    process.stdout.write(`capacity ${name}: ${text.join(", ")}\n`);
  }
  if (json !== undefined) {
    writeFileSync(json, `${JSON.stringify({ settings, cells, capacities }, null, 2)}\n`);
  }
}

main();
