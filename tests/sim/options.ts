import { parseArgs } from "node:util";
import { GENERATOR_NAMES } from "./generators/index.ts";
import { BASELINES } from "./policies/index.ts";
import { DEFAULT_SLO, type Slo } from "./summary.ts";
import type { Outage } from "./world.ts";

export interface SimOptions {
  trace: string;
  policies: string[];
  servers: number;
  rates: number[];
  seed: number;
  requests: number;
  half: "all" | "first" | "second";
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

const POLICY_NAMES: readonly string[] = ["warmroute", ...Object.keys(BASELINES)];

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
export function parseOptions(args: readonly string[]): SimOptions | null {
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
      "slo-ttft-ms": { type: "string" },
      "slo-tpot-ms": { type: "string" },
      "slo-prefill-factor": { type: "string" },
      slow: { type: "string", default: "" },
      outage: { type: "string", default: "" },
      config: { type: "string" },
      json: { type: "string" },
      html: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const { half } = values;
  if (half !== "all" && half !== "first" && half !== "second") {
    throw new RangeError("--half: expected all, first or second");
  }
  const generated = values.trace.startsWith("generated:");
  return {
    trace: values.trace,
    policies: policyNames(values.policy),
    servers: count("--servers", values.servers),
    rates: values.rate.split(",").map((text) => positive("--rate", text)),
    seed: Math.floor(number("--seed", values.seed)),
    requests: values.requests
      ? count("--requests", values.requests)
      : generated
        ? 4000
        : Number.POSITIVE_INFINITY,
    half,
    gateways: count("--gateways", values.gateways),
    workers: count("--workers", values.workers),
    slo: {
      ttftMs: positive("--slo-ttft-ms", values["slo-ttft-ms"] ?? `${DEFAULT_SLO.ttftMs}`),
      tpotMs: positive("--slo-tpot-ms", values["slo-tpot-ms"] ?? `${DEFAULT_SLO.tpotMs}`),
      prefillFactor: number(
        "--slo-prefill-factor",
        values["slo-prefill-factor"] ?? `${DEFAULT_SLO.prefillFactor}`,
      ),
    },
    slow: new Map(
      parts(values.slow).map((part) => {
        const [server = "", factor = ""] = part.split(":");
        return [Math.floor(number("--slow", server)), positive("--slow", factor)];
      }),
    ),
    outages: parts(values.outage).map((part) => {
      const [server = "", from = "", to = ""] = part.split(/[:-]/);
      return {
        server: Math.floor(number("--outage", server)),
        from: number("--outage", from),
        to: number("--outage", to),
      };
    }),
    json: values.json,
    html: values.html,
    config: values.config,
  };
}

function policyNames(list: string): string[] {
  if (list === "all") return [...POLICY_NAMES];
  const names = parts(list);
  for (const name of names) {
    if (!POLICY_NAMES.includes(name)) {
      throw new RangeError(`--policy ${name}: expected some of ${POLICY_NAMES.join(", ")}`);
    }
  }
  return names;
}

function parts(list: string): string[] {
  return list.split(",").filter((part) => part !== "");
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) {
    throw new RangeError(`${name}: expected a number, got ${text}`);
  }
  return value;
}

function positive(name: string, text: string): number {
  const value = number(name, text);
  if (value <= 0) throw new RangeError(`${name}: expected more than 0, got ${text}`);
  return value;
}

function count(name: string, text: string): number {
  const value = number(name, text);
  if (value < 1 || !Number.isInteger(value)) {
    throw new RangeError(`${name}: expected a whole number from 1 on, got ${text}`);
  }
  return value;
}
