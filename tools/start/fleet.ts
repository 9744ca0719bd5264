import { type ChildProcess, spawn } from "node:child_process";
import { type EnvoyOptions, type EnvoyProcess, startEnvoy } from "../envoy/process.ts";
import { ROOT } from "../paths.ts";
import { tethered } from "../tether.ts";

/** LLM servers with an Envoy in front of them. */
export interface StartedFleet {
  name: string;
  hosts: string[];
  envoy: EnvoyProcess;
  stop(): Promise<void>;
}

/** How long a program may take to listen, in milliseconds. */
const LISTEN_TIMEOUT_MS = 90_000;

/** Tokens per streamed event: fewer events leave the machine to Envoy. */
const CHUNK_TOKENS = 4;

/** Starts embedded servers in a process of their own, and Envoy in front of them. */
export async function startFleet(
  name: string,
  servers: number,
  options: (hosts: string[]) => Partial<EnvoyOptions>,
): Promise<StartedFleet> {
  const { child, hosts } = await startServers(servers);
  try {
    const envoy = await startEnvoy({ hosts, workers: 1, ...options(hosts) });
    return {
      name,
      hosts,
      envoy,
      stop: async () => {
        await envoy.stop();
        child.kill("SIGTERM");
      },
    };
  } catch (error) {
    child.kill("SIGTERM");
    throw error;
  }
}

/** Starts the LLM servers of tests/llm; they end with this program. */
function startServers(count: number): Promise<ListeningProgram> {
  const args = ["--servers", String(count), "--port", "0", "--chunk-tokens", String(CHUNK_TOKENS)];
  return startListening(["tests/llm/main.ts", ...args]);
}

/** A program that has said where it listens. */
export interface ListeningProgram {
  child: ChildProcess;
  hosts: string[];
}

/** Starts a TypeScript program of the project that says `listening on …`; it ends with this one. */
export function startListening(args: string[]): Promise<ListeningProgram> {
  const [command = "", ...rest] = tethered([process.execPath, "--import", "tsx", ...args]);
  const child = spawn(command, rest, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  process.on("exit", () => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    let output = "";
    const take = (chunk: Buffer) => {
      output += chunk;
      const listening = /listening on (.*)\n/.exec(output)?.[1];
      if (listening === undefined) return;
      clearTimeout(late);
      resolve({ child, hosts: listening.split(", ") });
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.once("exit", () => reject(new Error(`${args[0]} ended before it listened:\n${output}`)));
    const late = setTimeout(
      () =>
        reject(
          new Error(`${args[0]} does not listen after ${LISTEN_TIMEOUT_MS / 1000} s:\n${output}`),
        ),
      LISTEN_TIMEOUT_MS,
    );
  });
}
