import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { commandLine, MAX_SEED, number, oneOf, parts, whole } from "../../tools/commandline.ts";
import {
  HALVES,
  LEAST_RATE,
  MOST_GATEWAYS,
  MOST_RATE,
  MOST_SERVERS,
  MOST_WORKERS,
} from "./options.ts";
import { GOOD_NETWORK, type PeerNetwork } from "./peers.ts";
import { geometricMean, geometricMeans, PERCENTILES } from "./ratios.ts";
import { type RunOptions, runOptions, runPolicy } from "./run.ts";
import { loadPart, type Part, readConfig, saturation, workloadNames } from "./suite.ts";
import { DEFAULT_SLO, type Summary, summarise } from "./summary.ts";
import { atRate, later } from "./workload.ts";

const CASES = "good, off, loss5, unheard1, unheard, late1:MS, late:MS, restart1";

const HELP = `Compares several gateways with one, over workloads: alone, telling each other, and with faults between them.

  --workloads A,B   as --trace of the simulator takes them
  --gateways G,H    (2,4,8,16)
  --cases A,B       ${CASES} (good);
                    off: they tell each other nothing
  --epp             also runs epp with as many gateways
  --half HALF       of traces: first, second or all (second)
  --seed S          (2)
  --loads L,M       shares of least_request's saturation (0.9)
  --servers N       (8); 64 servers get 8 times the rate of 8
  --workers N       of each gateway (2)
  --requests N      of generators (3000)
  --config FILE     laid over warmroute's configuration
  --json OUT
`;

/** Gateways, one or many, are up for so long before the first request comes, ms: those of a fleet have met by then. */
const MEETING_MS = 2000;
const OFF = { peers: { cluster: "", hosts: [] } };

interface Settings extends Part {
  workloads: string[];
  gateways: number[];
  /** How gateways reach each other, or `epp`: another policy behind as many gateways. */
  cases: string[];
  seed: number;
  loads: number[];
  servers: number;
  workers: number;
  config: object;
}

interface Line {
  workload: string;
  load: number;
  gateways: number;
  case: string;
  summary: Summary;
  messagesPerS: number;
  bytesPerS: number;
}

function options(gateways: number, settings: Settings): RunOptions {
  const { servers, seed, workers, config } = settings;
  return runOptions({ gateways, servers, seed, workers, config });
}

/**
 * What a case's name means for so many gateways.
 * @param endMs when the last request comes
 * @throws RangeError where there is no such case
 */
function networkOf(name: string, gateways: number, endMs: number): PeerNetwork {
  const [kind, ms = "0"] = name.split(":");
  const all = Array.from({ length: gateways }, (_, gateway) => gateway);
  switch (kind) {
    case "good":
    case "off":
      return GOOD_NETWORK;
    case "loss5":
      return { ...GOOD_NETWORK, lossShare: 0.05 };
    case "unheard1":
      return { ...GOOD_NETWORK, unheard: [0] };
    case "unheard":
      return { ...GOOD_NETWORK, unheard: all };
    case "late1":
      return { ...GOOD_NETWORK, lateMs: new Map([[0, number("--cases late1", ms, 0, 1e6)]]) };
    case "late":
      return { ...GOOD_NETWORK, allLateMs: number("--cases late", ms, 0, 1e6) };
    case "restart1":
      return { ...GOOD_NETWORK, restartMs: new Map([[0, endMs / 2]]) };
    default:
      throw new RangeError(`--cases: expected some of ${CASES}, got "${name}"`);
  }
}

function run(
  name: string,
  share: number,
  gateways: number,
  kind: string,
  settings: Settings,
): Line {
  // Of 8 servers: more of them bear as much more.
  const saturated = saturation(name, settings, { ...options(1, settings), servers: 8 });
  const rate = (share * saturated * settings.servers) / 8;
  const arrivals = atRate(loadPart(name, settings.seed, settings), rate);
  const workload = later(arrivals, MEETING_MS);
  const tally = { messages: 0, bytes: 0 };
  const config = kind === "off" ? { ...settings.config, ...OFF } : settings.config;
  const policy = kind === "epp" ? "epp" : "warmroute";
  const endMs = Math.max(...workload.requests.map(({ after, atMs }) => (after < 0 ? atMs : 0)));
  const network = kind === "epp" ? GOOD_NETWORK : networkOf(kind, gateways, endMs);
  const result = runPolicy(policy, workload, {
    ...options(gateways, settings),
    config,
    network,
    tally,
  });
  const summary = summarise(result, DEFAULT_SLO);
  const seconds = summary.duration_s;
  const messagesPerS = tally.messages / seconds;
  const bytesPerS = tally.bytes / seconds;
  return { workload: name, load: share, gateways, case: kind, summary, messagesPerS, bytesPerS };
}

function ratios(line: Line, one: Line): number[] {
  return PERCENTILES.map((p) => line.summary.ttft_ms[p] / one.summary.ttft_ms[p]);
}

function show(line: Line, one: Line): string {
  const { summary: s } = line;
  const ttft = PERCENTILES.map((p) => s.ttft_ms[p].toFixed(0).padStart(7)).join("");
  const over = ratios(line, one).map((ratio) => ratio.toFixed(2).padStart(6));
  return (
    `  ${String(line.gateways).padStart(2)} ${line.case.padEnd(10)}${ttft}  × one ${over.join("")}` +
    `  cached ${(100 * s.cached_token_share).toFixed(1).padStart(5)} %  good ${(100 * s.goodput_share).toFixed(1)} %` +
    `  ${line.messagesPerS.toFixed(0)} messages/s ${(line.bytesPerS / 1024).toFixed(0)} KiB/s`
  );
}

function print(lines: readonly Line[], settings: Settings): void {
  const write = (text: string): void => void process.stdout.write(`${text}\n`);
  const ones = lines.filter((line) => line.gateways === 1);
  const oneOf = (line: Line): Line =>
    ones.find((one) => one.workload === line.workload && one.load === line.load) as Line;
  write(`\nGeometric means over workloads and loads, × one gateway, p50 / p90 / p99:`);
  for (const gateways of settings.gateways) {
    for (const kind of settings.cases) {
      const rows = lines.filter((line) => line.gateways === gateways && line.case === kind);
      const all = rows.map((line) => ratios(line, oneOf(line)));
      const means = geometricMeans(all);
      // Where prompts share nothing there is nothing to compare.
      const cached = rows
        .filter((line) => oneOf(line).summary.cached_token_share > 0)
        .map((line) => line.summary.cached_token_share / oneOf(line).summary.cached_token_share);
      write(
        `  ${String(gateways).padStart(2)} ${kind.padEnd(10)} ${means.map((mean) => mean.toFixed(2)).join(" / ")}` +
          `  cached × one ${geometricMean(cached).toFixed(3)}`,
      );
    }
  }
}

function readSettings(args: string[]): Settings & { json: string | undefined } {
  const { values } = parseArgs({
    args,
    options: {
      workloads: { type: "string" },
      gateways: { type: "string", default: "2,4,8,16" },
      cases: { type: "string", default: "good" },
      epp: { type: "boolean", default: false },
      half: { type: "string", default: "second" },
      seed: { type: "string", default: "2" },
      loads: { type: "string", default: "0.9" },
      servers: { type: "string", default: "8" },
      workers: { type: "string", default: "2" },
      requests: { type: "string", default: "3000" },
      config: { type: "string" },
      json: { type: "string" },
    },
  });
  const cases = parts(values.cases);
  // One that isn't there is refused before hours of runs, not after.
  for (const name of cases) networkOf(name, 1, 0);
  return {
    workloads: workloadNames(values.workloads),
    gateways: parts(values.gateways).map((many) => whole("--gateways", many, 1, MOST_GATEWAYS)),
    cases: [...cases, ...(values.epp ? ["epp"] : [])],
    half: oneOf("--half", values.half, HALVES),
    seed: whole("--seed", values.seed, 0, MAX_SEED),
    loads: parts(values.loads).map((load) => number("--loads", load, LEAST_RATE, MOST_RATE)),
    servers: whole("--servers", values.servers, 1, MOST_SERVERS),
    workers: whole("--workers", values.workers, 1, MOST_WORKERS),
    requests: whole("--requests", values.requests, 1, 1e9),
    config: readConfig(values.config),
    json: values.json,
  };
}

function main(): void {
  const { json, ...settings } = commandLine(HELP, readSettings);
  const lines: Line[] = [];
  for (const name of settings.workloads) {
    for (const share of settings.loads) {
      process.stdout.write(`\n${name} at ${share}\n`);
      const one = run(name, share, 1, "good", settings);
      lines.push(one);
      process.stdout.write(`${show(one, one)}\n`);
      for (const gateways of settings.gateways) {
        for (const kind of settings.cases) {
          const line = run(name, share, gateways, kind, settings);
          lines.push(line);
          process.stdout.write(`${show(line, one)}\n`);
        }
      }
    }
  }
  print(lines, settings);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ settings, lines }, null, 2)}\n`);
}

main();
