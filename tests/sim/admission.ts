import { parseArgs } from "node:util";
import { commandLine, MAX_SEED, oneOf, parts, whole } from "../../tools/commandline.ts";
import { newStart } from "./generators/conversation.ts";
import { HALVES, POLICY_NAMES } from "./options.ts";
import type { Outcome, RunResult } from "./outcome.ts";
import { Random } from "./random.ts";
import { runOptions, runPolicy } from "./run.ts";
import { loadPart, type Part, readConfig, saturation } from "./suite.ts";
import { DEFAULT_SLO, distribution, isGood, summarise, ttftLimitMs, ttftMs } from "./summary.ts";
import { atRate, type Workload, WorkloadBuilder, type WorkRequest } from "./workload.ts";

const HELP = `What admission is for, measured: bursts, heavy and light, overload, a tenant that floods.

  --half HALF     of the trace (second)
  --seeds S,T     of the generated workloads (2,3,6,7,8,9)
  --requests N    of the generated workloads (3000)
  --only A,B      bursts, heavy, overload, tenants (all)
  --config FILE   laid over warmroute's configuration
`;

const TRACE = "azure2023_code";
const MIX = "generated:heavy-light";
/** The mix's prompts are of some hundred tokens or of some ten thousand. */
const HEAVY_TOKENS = 4096;

interface Settings extends Part {
  seeds: number[];
  config: object;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const ms = (value: number): string => value.toFixed(0).padStart(7);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(7);
const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const isDone = ({ state }: Outcome): boolean => state === "done";
const isHeavy = ({ request }: Outcome): boolean => request.promptTokens > HEAVY_TOKENS;

const isBaseline = ({ name }: { name: string }): boolean =>
  name !== "warmroute" && name !== "oracle";

const limitMs = (request: WorkRequest): number => ttftLimitMs(request, DEFAULT_SLO);

function ttft(outcomes: readonly Outcome[]) {
  return distribution(outcomes.filter(isDone).map(ttftMs));
}

/** The rate at which least_request is saturated. */
function saturated(name: string, settings: Settings): number {
  return saturation(name, settings, runOptions({ seed: settings.seeds[0] ?? 1 }));
}

function bursts(settings: Settings): void {
  const rate = 0.9 * saturated(TRACE, settings);
  print(`\nBursts: ${TRACE}, ${settings.half} half, 0.9 of saturation (rate ${rate.toFixed(2)})`);
  print(`  policy        TTFT p50    p90    p99  within the goals`);
  const workload = atRate(loadPart(TRACE, 1, settings), rate);
  const rows = POLICY_NAMES.map((name) => {
    const result = runPolicy(name, workload, runOptions({ config: settings.config }));
    const good = summarise(result, DEFAULT_SLO).goodput_share;
    return { name, good, ...ttft(result.outcomes) };
  });
  for (const { name, p50, p90, p99, good } of rows) {
    print(`  ${name.padEnd(14)}${ms(p50)}${ms(p90)}${ms(p99)}  ${percent(good)}`);
  }
  const others = rows.filter(isBaseline);
  for (const p of ["p50", "p90", "p99"] as const) {
    const best = Math.min(...others.map((row) => row[p]));
    print(`  ${p} over the best baseline: ${((rows[0]?.[p] ?? Number.NaN) / best).toFixed(2)}`);
  }
}

function heavy(settings: Settings): void {
  const rate = 0.9 * saturated(MIX, settings);
  const seeds = settings.seeds.join(", ");
  print(`\nHeavy and light: seeds ${seeds}, 0.9 of saturation (rate ${rate.toFixed(2)})`);
  print(
    `  policy         all p50    p90    p99  light p50    p90    p99  heavy p50    p90  in time`,
  );
  const rows = POLICY_NAMES.map((name) => {
    const runs = settings.seeds.map((seed) => {
      const workload = atRate(loadPart(MIX, seed, settings), rate);
      const { outcomes } = runPolicy(name, workload, runOptions({ seed, config: settings.config }));
      const heavies = outcomes.filter(isHeavy);
      const inTime = heavies.filter((o) => isDone(o) && ttftMs(o) <= limitMs(o.request));
      return {
        all: ttft(outcomes),
        light: ttft(outcomes.filter((outcome) => !isHeavy(outcome))),
        heavy: ttft(heavies),
        inTime: inTime.length / heavies.length,
      };
    });
    const of = (which: "all" | "light" | "heavy", p: "p50" | "p90" | "p99"): number =>
      mean(runs.map((run) => run[which][p]));
    return { name, of, inTime: mean(runs.map((run) => run.inTime)) };
  });
  for (const { name, of, inTime } of rows) {
    const [all, light] = (["all", "light"] as const).map(
      (which) => ms(of(which, "p50")) + ms(of(which, "p90")) + ms(of(which, "p99")),
    );
    const heavies = ms(of("heavy", "p50")) + ms(of("heavy", "p90"));
    print(`  ${name.padEnd(15)}${all}    ${light}    ${heavies}  ${percent(inTime)}`);
  }
  const others = rows.filter(isBaseline);
  for (const [which, p] of [
    ["all", "p90"],
    ["light", "p99"],
  ] as const) {
    const best = Math.min(...others.map(({ of }) => of(which, p)));
    const ratio = (rows[0]?.of(which, p) ?? Number.NaN) / best;
    print(`  ${which} ${p} over the best baseline: ${ratio.toFixed(2)}`);
  }
}

/** Requests within the goals, per second in which requests came. */
function goodPerSecond({ outcomes }: RunResult): number {
  const arrivals = outcomes.map(({ arrivedMs }) => arrivedMs).sort((a, b) => a - b);
  const spanMs = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
  return (1000 * outcomes.filter((outcome) => isGood(outcome, DEFAULT_SLO)).length) / spanMs;
}

function overload(settings: Settings): void {
  print("\nOverload: shed, of all; within the goals, of those admitted; such requests per second");
  const goals = (request: WorkRequest): [string, string][] => [
    ["x-slo-ttft-ms", limitMs(request).toFixed(0)],
  ];
  for (const name of [MIX, TRACE]) {
    const full = saturated(name, settings);
    const seeds = name === TRACE ? [1] : settings.seeds;
    for (const headers of [undefined, goals]) {
      for (const share of [1, 1.25]) {
        const runs = seeds.map((seed) => {
          const extra = headers ? { headers } : {};
          const workload = atRate(loadPart(name, seed, settings), share * full);
          return runPolicy("warmroute", workload, {
            ...runOptions({ seed, config: settings.config }),
            ...extra,
          });
        });
        const admitted = runs.map(({ outcomes }) => outcomes.filter(isDone));
        const shed = runs.map(
          ({ outcomes }, i) => 1 - (admitted[i]?.length ?? 0) / outcomes.length,
        );
        const good = admitted.map(
          (done) => done.filter((o) => isGood(o, DEFAULT_SLO)).length / done.length,
        );
        print(
          `  ${name.padEnd(22)}${share.toFixed(2)} × saturation, goals ${headers ? "stated " : "unknown"}` +
            `${percent(mean(shed))}  ${percent(mean(good))}  ${mean(runs.map(goodPerSecond)).toFixed(1)} /s`,
        );
      }
    }
  }
}

/**
 * A quiet tenant for 90 s, and for a third of that twice what the servers can do from another, all
 * with new prompts of 1,500 tokens.
 */
function twoTenants(seed: number, isFlooded: boolean): Workload {
  const builder = new WorkloadBuilder();
  const add = (tenant: string, atMs: number): void => {
    const { runs, messages } = newStart(builder, [["user", 1500]]);
    const lengths = { promptTokens: 1500, outputTokens: 60 };
    const session = `${tenant} ${atMs}`;
    builder.add({ session, tenant, atMs, after: -1, blocks: [...runs], messages, ...lengths });
  };
  const quiet = new Random(seed, "quiet");
  for (let atMs = 0; atMs < 90_000; atMs += quiet.exponential(250)) add("quiet", atMs);
  const loud = new Random(seed, "loud");
  const untilMs = isFlooded ? 60_000 : 0;
  for (let atMs = 30_000; atMs < untilMs; atMs += loud.exponential(6)) add("loud", atMs);
  return builder.done("two tenants");
}

function tenants(settings: Settings): void {
  print("\nTwo tenants, one flooding for 30 s: the quiet one's TTFT p50, p90, p99; refused");
  const headers = ({ tenant }: WorkRequest): [string, string][] => [["x-tenant", tenant]];
  const config = { ...settings.config, affinity: { tenant_header: "x-tenant" } };
  for (const name of ["warmroute", "least_request", "epp"]) {
    const rows = [false, true].map((isFlooded) => {
      const quiet = settings.seeds.slice(0, 2).flatMap((seed) => {
        const workload = twoTenants(seed, isFlooded);
        const { outcomes } = runPolicy(name, workload, {
          ...runOptions({ seed, config }),
          headers,
        });
        return outcomes.filter(({ request }) => request.tenant === "quiet");
      });
      const { p50, p90, p99 } = ttft(quiet);
      const refused = quiet.filter((outcome) => !isDone(outcome)).length;
      const title = `${name.padEnd(14)} ${isFlooded ? "flooded" : "alone  "}`;
      print(`  ${title}${ms(p50)}${ms(p90)}${ms(p99)}  ${refused} of ${quiet.length}`);
      return p90;
    });
    print(`  p90 beside a flood over alone: ${((rows[1] ?? 0) / (rows[0] ?? 0)).toFixed(2)}`);
  }
}

const PARTS = { bursts, heavy, overload, tenants };
const PART_NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[];

function readSettings(args: string[]): Settings & { only: (keyof typeof PARTS)[] } {
  const { values } = parseArgs({
    args,
    options: {
      half: { type: "string", default: "second" },
      seeds: { type: "string", default: "2,3,6,7,8,9" },
      requests: { type: "string", default: "3000" },
      only: { type: "string", default: PART_NAMES.join() },
      config: { type: "string" },
    },
  });
  return {
    half: oneOf("--half", values.half, HALVES),
    seeds: parts(values.seeds).map((seed) => whole("--seeds", seed, 0, MAX_SEED)),
    requests: whole("--requests", values.requests, 1, 1e9),
    only: parts(values.only).map((name) => oneOf("--only", name, PART_NAMES)),
    config: readConfig(values.config),
  };
}

function main(): void {
  const { only, ...settings } = commandLine(HELP, readSettings);
  for (const name of only) PARTS[name](settings);
}

main();
