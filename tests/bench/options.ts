import { parseArgs } from "node:util";
import {
  commandLine,
  MAX_SEED,
  oneOf,
  output,
  parts,
  some,
  whole,
} from "../../tools/commandline.ts";
import { parseSize } from "./bodies.ts";
import { PEER_NAMES } from "./peers.ts";

const USAGE = `npm run bench -- [options]
  --bodies 1k,32k,256k   sizes of the chat bodies
  --hosts 3              backends behind each router; also several, 3,200
  --answers plain        or streamed, or plain,streamed
  --stream               short for --answers streamed
  --seconds 4            of load per router, size and round
  --rounds 3             each router once per round, in turn
  --connections 16       kept open by the load generator
  --peers NAME,NAME|all  installs ${PEER_NAMES.join(", ")}
                         from PyPI into .cache/bench; what is there already always takes part
  --only NAME,NAME       routers by name; Envoy alone is always there
  --config JSON          further plugin configuration of warmroute
  --variant NAME=JSON    warmroute once more, with this laid over --config; as often as wanted
  --seed 1               of the bodies
  --json FILE            the figures
npm run bench -- gateways [--seconds 10] [--rate 150]
  what a message between gateways costs, and a gateway of several per request`;

export interface Options {
  bodyBytes: number[];
  hosts: number[];
  streamed: boolean[];
  seconds: number;
  rounds: number;
  connections: number;
  /** To be installed if they aren't. */
  peers: string[];
  only: string[] | undefined;
  configuration: object;
  /** Configurations of further warmroutes, by name. */
  variants: Map<string, object>;
  seed: number;
  json: string | undefined;
}

/** Reads the command line; ends the program with a word when it makes no sense. */
export function readOptions(): Options {
  return commandLine(USAGE, (args) => {
    const { values } = parseArgs({
      args,
      options: {
        bodies: { type: "string", default: "1k,32k,256k" },
        hosts: { type: "string", default: "3" },
        answers: { type: "string", default: "plain" },
        stream: { type: "boolean", default: false },
        seconds: { type: "string", default: "4" },
        rounds: { type: "string", default: "3" },
        connections: { type: "string", default: "16" },
        peers: { type: "string", default: "" },
        only: { type: "string" },
        config: { type: "string", default: "{}" },
        variant: { type: "string", multiple: true, default: [] },
        seed: { type: "string", default: "1" },
        json: { type: "string" },
      },
    });
    const answers = values.stream ? ["streamed"] : some("--answers", values.answers);
    return {
      bodyBytes: some("--bodies", values.bodies).map(size),
      hosts: some("--hosts", values.hosts).map((text) => whole("--hosts", text, 1, 254)),
      streamed: answers.map(
        (kind) => oneOf("--answers", kind, ["plain", "streamed"]) === "streamed",
      ),
      seconds: whole("--seconds", values.seconds, 1, 3600),
      rounds: whole("--rounds", values.rounds, 1, 100),
      connections: whole("--connections", values.connections, 1, 10_000),
      peers: values.peers === "all" ? PEER_NAMES : parts(values.peers).map(peer),
      only: values.only === undefined ? undefined : some("--only", values.only),
      configuration: configuration("--config", values.config),
      variants: new Map(values.variant.map(variant)),
      seed: whole("--seed", values.seed, 0, MAX_SEED),
      json: output("--json", values.json),
    };
  });
}

/** Below this a body holds no prompt. */
const LEAST_BODY_BYTES = 200;

function size(text: string): number {
  const bytes = parseSize(text);
  if (bytes >= LEAST_BODY_BYTES) return bytes;
  throw new RangeError(`--bodies: expected at least ${LEAST_BODY_BYTES} bytes each, got "${text}"`);
}

const peer = (name: string): string => oneOf("--peers", name, PEER_NAMES);

function variant(text: string): [string, object] {
  const at = text.indexOf("=");
  if (at < 1) throw new RangeError(`--variant: expected NAME=JSON, got "${text}"`);
  return [text.slice(0, at), configuration("--variant", text.slice(at + 1))];
}

function configuration(name: string, text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch (error) {
    throw new RangeError(`${name}: ${(error as Error).message}`);
  }
}
