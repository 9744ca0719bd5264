import { parseArgs } from "node:util";
import { commandLine, MAX_SEED, number, whole } from "../commandline.ts";

const MAX_PORT = 65_535;

const USAGE = `npm start -- [options]

Two fleets of four embedded LLM servers get the same traffic: one behind Envoy's round robin, one
behind warmroute.

  --seconds N          of traffic (30)
  --rate X             requests per second to each fleet, on average (20)
  --seed N             of the traffic (1)
  --port N             where warmroute listens; any free port by default
  --admin-port N       Envoy's admin interface there; any free port by default

  --hosts A:P,B:P      in front of real servers instead, without traffic of its own (port 8080)
`;

export interface Options {
  /** Length of the traffic; unlimited in front of real servers unless it is given. */
  seconds: number | undefined;
  /** Requests per second to each fleet. */
  rate: number;
  seed: number;
  port: number | undefined;
  adminPort: number | undefined;
  /** `ip:port` of real servers; undefined: embedded ones. */
  hosts: string[] | undefined;
}

/** Reads the command line; ends the program with a word when it makes no sense. */
export function readOptions(): Options {
  return commandLine(USAGE, (args) => {
    const { values } = parseArgs({
      args,
      options: {
        seconds: { type: "string" },
        rate: { type: "string", default: "20" },
        seed: { type: "string", default: "1" },
        port: { type: "string" },
        "admin-port": { type: "string" },
        hosts: { type: "string" },
      },
    });
    const { seconds } = values;
    return {
      seconds: seconds === undefined ? undefined : number("--seconds", seconds, 1, 86_400),
      rate: number("--rate", values.rate, 0.1, 200),
      seed: whole("--seed", values.seed, 0, MAX_SEED),
      port: port("--port", values.port),
      adminPort: port("--admin-port", values["admin-port"]),
      hosts: values.hosts?.split(",").map(host),
    };
  });
}

function port(name: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : whole(name, text, 1, MAX_PORT);
}

function host(text: string): string {
  const trimmed = text.trim();
  const [, found] = /^(?:\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(trimmed) ?? [];
  const isPort = Number(found) >= 1 && Number(found) <= MAX_PORT;
  if (isPort) return trimmed;
  throw new RangeError(`--hosts: expected address:port, got "${text}"`);
}
