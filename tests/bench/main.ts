/** `npm run bench`: what each router costs per request, side by side in one run. */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, release } from "node:os";
import { buildIfStale } from "../../tools/compile.ts";
import { findEnvoy } from "../../tools/envoy/find.ts";
import type { Contender } from "./contender.ts";
import { envoyContenders } from "./envoys.ts";
import { extProcContender } from "./extproc.ts";
import { writeBodies } from "./load.ts";
import { measure, startBackend } from "./measure.ts";
import { readOptions } from "./options.ts";
import { installPeer, peerContenders } from "./peers.ts";
import { type Measured, rowsOf, settingName, tableOf } from "./report.ts";
import { loadGeneratorMissing } from "./wrk.ts";

if (process.argv[2] === "gateways") {
  await import("./gateways.ts");
  process.exit();
}
const options = readOptions();
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
for (const name of options.peers) {
  const why = installPeer(name);
  if (why !== undefined) console.log(`${name} can't be installed: ${why}`);
}

const known = [
  ...envoyContenders(options.configuration, options.variants),
  extProcContender,
  ...peerContenders(),
];
const names = known.map(({ name }) => name);
const unknown = options.only?.find((name) => !names.includes(name));
if (unknown !== undefined) {
  console.error(`--only: expected ${names.join(", ")}, got "${unknown}"`);
  process.exit(2);
}
const able = known.filter((contender, i) => {
  const { only, variants } = options;
  const isAsked =
    only === undefined || only.includes(contender.name) || variants.has(contender.name);
  if (i > 0 && !isAsked) return false;
  const why = contender.missing();
  if (why !== undefined) console.log(`without ${contender.name}: ${why}`);
  return why === undefined;
});

const envoy = findEnvoy(undefined, console.log);
const cpu = `${cpus()[0]?.model.trim()}, ${cpus().length} cores, Linux ${release()}`;
const { connections, seconds, rounds } = options;
console.log(`Envoy ${envoy.version}; ${cpu}; each router on one core, load and backend on another`);
console.log(`${connections} connections, ${rounds} rounds of ${seconds} s, medians\n`);

const measured: Measured[] = [];
for (const count of options.hosts) {
  const { hosts, stop } = await startBackend(count);
  for (const streamed of options.streamed) {
    for (const bodyBytes of options.bodyBytes) {
      const setting = { hosts: count, streamed, bodyBytes };
      const bodies = writeBodies(bodyBytes, options.seed, streamed);
      try {
        for (let round = 0; round < rounds; round++) {
          // Another order each round, so that no router always follows the same one.
          const order = able.map((_unused, i) => able[(i + round) % able.length] as Contender);
          for (const contender of order) {
            await run(contender, hosts, bodies, setting, round);
          }
        }
      } finally {
        bodies.remove();
      }
    }
  }
  await stop();
}

// The order of the list, not of the rounds, in the table.
measured.sort((a, b) => position(a.name) - position(b.name));
const rows = rowsOf(measured);
console.log(`\n${tableOf(rows)}`);
if (options.json !== undefined) {
  const setting = { envoy: envoy.version, machine: cpu, connections, seconds, rounds };
  writeFileSync(options.json, `${JSON.stringify({ setting, rows, measured }, null, 2)}\n`);
}
process.exit(rows.some(({ failed }) => failed > 0) ? 1 : 0);

function position(name: string): number {
  return able.findIndex((contender) => contender.name === name);
}

/** Measures a router once and says so. One that can't run spares the others. */
async function run(
  contender: Contender,
  hosts: string[],
  bodies: ReturnType<typeof writeBodies>,
  setting: { hosts: number; streamed: boolean; bodyBytes: number },
  round: number,
): Promise<void> {
  const title = `${settingName(setting)}, round ${round + 1}/${rounds}, ${contender.name}`;
  try {
    const one = await measure(contender, hosts, bodies, { setting, round, seconds, connections });
    measured.push(one);
    const rate = Math.round(one.requestsPerSecond).toLocaleString("en");
    console.log(`${title}: ${rate} req/s, ${one.cpuUs.toFixed(1)} µs`);
  } catch (error) {
    console.log(`${title}: ${(error as Error).message}`);
  }
}
