/** `npm run bench`: what each router costs per request, side by side in one run. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import { buildIfStale } from "../../tools/compile.ts";
import { findEnvoy } from "../../tools/envoy/find.ts";
import { ROOT } from "../../tools/paths.ts";
import { tethered } from "../../tools/tether.ts";
import { parseSize } from "./bodies.ts";
import type { Contender } from "./contender.ts";
import { envoyContenders } from "./envoys.ts";
import { load, loadGeneratorMissing, writeBodies } from "./load.ts";
import { type Measured, rowsOf, tableOf } from "./report.ts";

const USAGE = `npm run bench -- [options]
  --bodies 1k,32k,256k   sizes of the chat bodies
  --hosts 3              backends behind each router
  --seconds 4            of load per router, size and round
  --rounds 3             each router once per round, in turn
  --connections 16       kept open by the load generator
  --stream               answers as event streams
  --only NAME,NAME       routers by name; Envoy alone is always there
  --config JSON          further plugin configuration of warmroute
  --seed 1               of the bodies
  --json FILE            the figures`;

const { values } = parseArgs({
  options: {
    bodies: { type: "string", default: "1k,32k,256k" },
    hosts: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "16" },
    stream: { type: "boolean", default: false },
    only: { type: "string" },
    config: { type: "string", default: "{}" },
    seed: { type: "string", default: "1" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const missing = loadGeneratorMissing();
if (missing !== undefined || availableParallelism() < 2 || process.platform !== "linux") {
  console.error(missing ?? "The benchmark needs Linux and two cores: the router's and the load's.");
  process.exit(1);
}
const built = buildIfStale();
if (!built.ok) {
  console.error(built.message);
  process.exit(1);
}

/** The router has one core; load generator and backend have the other. */
const ROUTER_CORE = 0;
const LOAD_CORE = 1;
const WARM_UP_SECONDS = 1;

const sizes = values.bodies.split(",").map(parseSize);
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const only = values.only?.split(",");
const contenders = envoyContenders(JSON.parse(values.config)).filter(
  ({ name }, i) => i === 0 || only === undefined || only.includes(name),
);
const able = contenders.filter((contender) => {
  const why = contender.missing();
  if (why !== undefined) console.log(`without ${contender.name}: ${why}`);
  return why === undefined;
});

const { port, stop: stopBackend } = await startBackend(Number(values.hosts));
const hosts = Array.from(
  { length: Number(values.hosts) },
  (_unused, i) => `127.0.0.${i + 1}:${port}`,
);
const envoy = findEnvoy(undefined, console.log);
const machine = `${cpus()[0]?.model.trim()}, router on 1 core, load and backend on another`;
console.log(`Envoy ${envoy.version}, ${machine}\n`);

const measured: Measured[] = [];
for (const bytes of sizes) {
  const bodies = writeBodies(bytes, Number(values.seed), values.stream);
  try {
    for (let round = 0; round < rounds; round++) {
      // Another order each round, so that no router always follows the same one.
      const order = able.map((_unused, i) => able[(i + round) % able.length] as Contender);
      for (const contender of order) {
        const one = await measure(contender, bodies, round);
        measured.push(one);
        process.stdout.write(
          `${values.bodies.split(",")[sizes.indexOf(bytes)]} round ${round + 1}/${rounds} ` +
            `${one.name}: ${Math.round(one.requestsPerSecond)} req/s, ${one.cpuUs.toFixed(1)} µs\n`,
        );
      }
    }
  } finally {
    bodies.remove();
  }
}
await stopBackend();

// The order of the list, not of the rounds, in the table.
measured.sort((a, b) => position(a.name) - position(b.name));
const rows = rowsOf(measured);
console.log(`\n${tableOf(rows)}`);
if (values.json !== undefined) {
  const setting = {
    envoy: envoy.version,
    machine,
    connections,
    seconds,
    rounds,
    hosts: hosts.length,
  };
  const answers = values.stream ? "streamed" : "plain";
  writeFileSync(
    values.json,
    `${JSON.stringify({ setting: { ...setting, answers }, rows, measured }, null, 2)}\n`,
  );
}
process.exit(rows.some(({ failed }) => failed > 0) ? 1 : 0);

function position(name: string): number {
  return able.findIndex((contender) => contender.name === name);
}

/** Starts a router, warms it up, loads it, stops it. */
async function measure(
  contender: Contender,
  bodies: Parameters<typeof load>[1],
  round: number,
): Promise<Measured> {
  const running = await contender.start({ hosts, core: ROUTER_CORE });
  try {
    await load(running.port, bodies, { seconds: WARM_UP_SECONDS, connections, core: LOAD_CORE });
    const cpuBefore = running.cpuMs();
    const result = await load(running.port, bodies, { seconds, connections, core: LOAD_CORE });
    const cpuMs = running.cpuMs() - cpuBefore;
    return {
      ...result,
      name: contender.name,
      bodyBytes: bodies.bytes,
      round,
      requestsPerSecond: result.requests / result.seconds,
      cpuUs: (cpuMs * 1000) / result.requests,
      busy: cpuMs / (result.seconds * 1000),
      residentBytes: running.residentBytes(),
    };
  } finally {
    await running.stop();
  }
}

/** Starts the backend on the load's core; resolves once it listens. */
async function startBackend(count: number): Promise<{ port: number; stop: () => Promise<void> }> {
  const node = [process.execPath, "--import", "tsx", "tests/bench/backend.ts", String(count)];
  const [command = "", ...args] = tethered(["taskset", "-c", String(LOAD_CORE), ...node]);
  const child = spawn(command, args, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.on("exit", () => child.kill("SIGKILL"));
  const stop = () =>
    new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.kill("SIGTERM");
    });
  return await new Promise((resolve, reject) => {
    child.stdout.once("data", (chunk) => resolve({ port: Number(String(chunk)), stop }));
    child.once("exit", (code) => reject(new Error(`the backend ended with ${code}`)));
  });
}
