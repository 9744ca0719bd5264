import { parseArgs } from "node:util";
import { MAX_SEED, number, oneOf, output, parts, some, whole } from "../../tools/commandline.ts";
import { GENERATOR_NAMES } from "./generators/index.ts";
import { BASELINES } from "./policies/index.ts";
import { DEFAULT_SLO, type Slo } from "./summary.ts";
import type { Outage } from "./world.ts";

/** Which part of a workload is replayed. */
export const HALVES = ["all", "first", "second"] as const;
export type Half = (typeof HALVES)[number];

/** Bounds of what programs of the simulator may be asked for: beyond, a run takes days. */
export const MOST_SERVERS = 1024;
export const MOST_GATEWAYS = 64;
export const MOST_WORKERS = 16;
export const LEAST_RATE = 0.001;
export const MOST_RATE = 1000;

export interface SimOptions {
  trace: string;
  policies: string[];
  servers: number;
  rates: number[];
  seed: number;
  requests: number;
  half: Half;
  gateways: number;
  workers: number;
  slo: Slo;
  slow: Map<number, number>;
  outages: Outage[];
  json: string | undefined;
  html: string | undefined;
  /** Path of a JSON file that is laid over warmroute's configuration. */
  config: string | undefined;
}

/** warmroute first. */
export const POLICY_NAMES: readonly string[] = ["warmroute", ...Object.keys(BASELINES)];

export const HELP = `Replays a workload against simulated LLM servers in virtual time, one policy after the other.

  --trace FILE|NAME|generated:NAME   a trace (also the start of the name of one in
                    ../shared/traces), or one of the generators
                    ${GENERATOR_NAMES.join(", ")},
                    each also as NAME:open or NAME:closed
  --policy A,B      ${POLICY_NAMES.slice(0, 6).join(", ")},
                    ${POLICY_NAMES.slice(6).join(", ")}, or all
  --servers N       (8)
  --rate X[,X…]     multiplies the rate of arrivals (1)
  --seed S          (1)
  --requests N      how many a generator makes, and of a trace at most (4000 and all)
  --half HALF       first or second half of the workload only (all)
  --gateways G      spreads the requests over independent gateways (1)
  --workers N       worker threads of each warmroute gateway (2)
  --slo-ttft-ms X   (${DEFAULT_SLO.ttftMs}; long prompts get ${DEFAULT_SLO.prefillFactor} times their prefill alone)
  --slo-tpot-ms X   (${DEFAULT_SLO.tpotMs})
  --slo-prefill-factor X   0 makes --slo-ttft-ms hold for all prompts (${DEFAULT_SLO.prefillFactor})
  --slow I:F,…      server I is F times slower
  --outage I:A-B,…  server I is dead from share A to share B of the run
  --config FILE     JSON laid over warmroute's configuration
  --json OUT        writes the figures
  --html OUT        writes a page with plots
`;

/** @throws RangeError with what is wrong. */
export function parseOptions(args: readonly string[]): SimOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      trace: { type: "string", default: "generated:multi-tenant-chat" },
      policy: { type: "string", default: "warmroute,least_request,epp" },
      servers: { type: "string", default: "8" },
      rate: { type: "string", default: "1" },
      seed: { type: "string", default: "1" },
      requests: { type: "string" },
      half: { type: "string", default: "all" },
      gateways: { type: "string", default: "1" },
      workers: { type: "string", default: "2" },
      "slo-ttft-ms": { type: "string", default: `${DEFAULT_SLO.ttftMs}` },
      "slo-tpot-ms": { type: "string", default: `${DEFAULT_SLO.tpotMs}` },
      "slo-prefill-factor": { type: "string", default: `${DEFAULT_SLO.prefillFactor}` },
      slow: { type: "string", default: "" },
      outage: { type: "string", default: "" },
      config: { type: "string" },
      json: { type: "string" },
      html: { type: "string" },
    },
  });
  const isGenerated = values.trace.startsWith("generated:");
  const requests = values.requests ?? (isGenerated ? "4000" : undefined);
  const servers = whole("--servers", values.servers, 1, MOST_SERVERS);
  return {
    trace: values.trace,
    policies: policyNames("--policy", values.policy),
    servers,
    rates: some("--rate", values.rate).map((text) => number("--rate", text, LEAST_RATE, MOST_RATE)),
    seed: whole("--seed", values.seed, 0, MAX_SEED),
    requests:
      requests === undefined ? Number.POSITIVE_INFINITY : whole("--requests", requests, 1, 1e9),
    half: oneOf("--half", values.half, HALVES),
    gateways: whole("--gateways", values.gateways, 1, MOST_GATEWAYS),
    workers: whole("--workers", values.workers, 1, MOST_WORKERS),
    slo: {
      ttftMs: number("--slo-ttft-ms", values["slo-ttft-ms"], 1, 1e9),
      tpotMs: number("--slo-tpot-ms", values["slo-tpot-ms"], 1, 1e9),
      prefillFactor: number("--slo-prefill-factor", values["slo-prefill-factor"], 0, 1e9),
    },
    slow: new Map(parts(values.slow).map((part) => slow(part, servers))),
    outages: parts(values.outage).map((part) => outage(part, servers)),
    json: output("--json", values.json),
    html: output("--html", values.html),
    config: values.config,
  };
}

/** `I:F`: server I is F times slower. */
function slow(text: string, servers: number): [server: number, factor: number] {
  const [server = "", factor = ""] = text.split(":");
  return [whole("--slow", server, 0, servers - 1), number("--slow", factor, 0.001, 1e6)];
}

/** `I:A-B`: server I is dead from share A to share B of the run. */
function outage(text: string, servers: number): Outage {
  const [server = "", from = "", to = ""] = text.split(/[:-]/);
  return {
    server: whole("--outage", server, 0, servers - 1),
    from: number("--outage", from, 0, 1),
    to: number("--outage", to, 0, 1),
  };
}

/** Names of policies, or `all`. @throws RangeError with the one that isn't there. */
export function policyNames(name: string, list: string): string[] {
  if (list === "all") return [...POLICY_NAMES];
  return [...new Set(some(name, list))].map((p) => oneOf(name, p, POLICY_NAMES));
}
