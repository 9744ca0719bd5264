import { parseArgs } from "node:util";

export const USAGE = `npm start -- [options]

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
export function readOptions(args: string[]): Options {
  try {
    const { values } = parseArgs({
      args,
      options: {
        seconds: { type: "string" },
        rate: { type: "string" },
        seed: { type: "string" },
        port: { type: "string" },
        "admin-port": { type: "string" },
        hosts: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    return {
      seconds: number("--seconds", values.seconds, 1, 86_400),
      rate: number("--rate", values.rate, 0.1, 200) ?? 20,
      seed: number("--seed", values.seed, 0, 2 ** 32 - 1) ?? 1,
      port: number("--port", values.port, 1, 65_535),
      adminPort: number("--admin-port", values["admin-port"], 1, 65_535),
      hosts: values.hosts?.split(",").map(host),
    };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

function number(
  name: string,
  text: string | undefined,
  min: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !(value >= min && value <= max)) {
    throw new Error(`${name}: expected ${min}..${max}, got "${text}"`);
  }
  return value;
}

function host(text: string): string {
  const trimmed = text.trim();
  if (!/^(\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(trimmed)) {
    throw new Error(`--hosts: expected address:port, got "${text}"`);
  }
  return trimmed;
}
