import { parseArgs } from "node:util";
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
export function readOptions(args: string[]): Options {
  try {
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
        peers: { type: "string" },
        only: { type: "string" },
        config: { type: "string", default: "{}" },
        variant: { type: "string", multiple: true, default: [] },
        seed: { type: "string", default: "1" },
        json: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    const answers = values.stream ? ["streamed"] : values.answers.split(",");
    return {
      bodyBytes: values.bodies.split(",").map(parseSize),
      hosts: values.hosts.split(",").map((text) => whole("--hosts", text, 254)),
      streamed: answers.map((kind) => {
        if (kind !== "plain" && kind !== "streamed") {
          throw new Error(`--answers: expected plain or streamed, got "${kind}"`);
        }
        return kind === "streamed";
      }),
      seconds: whole("--seconds", values.seconds, 3600),
      rounds: whole("--rounds", values.rounds, 100),
      connections: whole("--connections", values.connections, 10_000),
      peers: values.peers === "all" ? PEER_NAMES : (values.peers?.split(",") ?? []),
      only: values.only?.split(","),
      configuration: JSON.parse(values.config) as object,
      variants: new Map(values.variant.map(variant)),
      seed: Number(values.seed),
      json: values.json,
    };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

function variant(text: string): [string, object] {
  const at = text.indexOf("=");
  if (at < 1) throw new Error(`--variant: expected NAME=JSON, got "${text}"`);
  return [text.slice(0, at), JSON.parse(text.slice(at + 1)) as object];
}

function whole(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most) {
    throw new Error(`${name}: expected a whole number of 1..${most}, got "${text}"`);
  }
  return value;
}
