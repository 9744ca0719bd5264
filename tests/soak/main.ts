/**
 * `npm run soak`: real Envoy for long, or with very many streams. Fails when memory grows, when it
 * gets slower, or when a request fails.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { commandLine, number, whole } from "../../tools/commandline.ts";
import { buildIfStale } from "../../tools/compile.ts";
import { type EnvoyProcess, startEnvoy } from "../../tools/envoy/process.ts";
import { withoutAccessLog } from "../bench/edit.ts";
import { startBackend } from "../bench/measure.ts";
import { loadGeneratorMissing } from "../bench/wrk.ts";
import { postDistinct } from "./prompts.ts";
import { openStreams, startStreaming } from "./streams.ts";

const HELP = `npm run soak -- [options]

  --minutes N       prompts of which none comes twice, for so long (20)
  --body BYTES      size of each (1000)
  --streams N       instead: N answers that stream at once, with and without the filter
`;
/** A sample each so many seconds. */
const SAMPLE_SECONDS = 10;
/** Share of the time after which memory must be flat and speed kept. */
const WARM_SHARE = 0.3;
/** What memory may still grow by, and speed fall by: other programs run beside. */
const GROWTH = 0.05;
const SLOWER = 0.3;
const MIB = 1024 * 1024;

const options = commandLine(HELP, (args) => {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: "string", default: "20" },
      body: { type: "string", default: "1000" },
      streams: { type: "string" },
    },
  });
  return {
    minutes: number("--minutes", values.minutes, 0.1, 100_000),
    bytes: whole("--body", values.body, 1, 1 << 30),
    streams: values.streams === undefined ? 0 : whole("--streams", values.streams, 1, 1_000_000),
  };
});
const built = buildIfStale();
if (!built.ok) throw new Error(built.message);
process.exit((await (options.streams > 0 ? streams(options.streams) : prompts())) ? 0 : 1);

async function settled(envoy: EnvoyProcess): Promise<boolean> {
  for (let waited = 0; waited < 100; waited++) {
    const stats = await envoy.stats();
    if (stats.sum("warmroute_in_flight") === 0 && stats.sum("warmroute_queue_length") === 0) {
      return true;
    }
    await sleep(100);
  }
  return false;
}

/** Prompts of which none comes twice: memory flat, speed kept. */
async function prompts(): Promise<boolean> {
  const missing = loadGeneratorMissing();
  if (missing !== undefined) throw new Error(missing);
  const { bytes, minutes } = options;
  const backend = await startBackend(3);
  const envoy = await startEnvoy({
    hosts: backend.hosts,
    configuration: { hosts: backend.hosts },
    edit: withoutAccessLog,
  });
  const samples: { requests: number; cpuUs: number; residentMiB: number }[] = [];
  let total = 0;
  let failed = 0;
  console.log(" seconds   requests   /s  p50 ms  p99 ms  CPU µs  resident MiB  table entries");
  try {
    const rounds = Math.ceil((minutes * 60) / SAMPLE_SECONDS);
    for (let round = 1; round <= rounds; round++) {
      const cpuMs = envoy.cpuMs();
      const load = await postDistinct(envoy.port, {
        bytes,
        seconds: SAMPLE_SECONDS,
        epoch: round,
        connections: 32,
      });
      total += load.requests;
      failed += load.failed + load.refused;
      const cpuUs = ((envoy.cpuMs() - cpuMs) * 1000) / load.requests;
      const residentMiB = envoy.residentBytes() / MIB;
      samples.push({ requests: load.requests, cpuUs, residentMiB });
      const entries = (await envoy.stats()).sum("warmroute_table_entries");
      const cells = [
        String(round * SAMPLE_SECONDS).padStart(8),
        String(total).padStart(10),
        (load.requests / load.seconds).toFixed(0).padStart(5),
        load.p50Ms.toFixed(1).padStart(6),
        load.p99Ms.toFixed(1).padStart(7),
        cpuUs.toFixed(0).padStart(7),
        residentMiB.toFixed(1).padStart(13),
        String(entries).padStart(14),
      ];
      console.log(cells.join(" "));
    }
    const inFlightZero = await settled(envoy);
    const errors = (await envoy.stats()).sum("warmroute_internal_errors_total");
    return judge(samples, total, failed, errors, inFlightZero);
  } finally {
    await envoy.stop();
    await backend.stop();
  }
}

function judge(
  samples: { cpuUs: number; residentMiB: number }[],
  total: number,
  failed: number,
  errors: number,
  inFlightZero: boolean,
): boolean {
  const warm = samples.slice(Math.floor(samples.length * WARM_SHARE));
  const half = Math.ceil(warm.length / 2);
  const mean = (list: typeof warm, of: (sample: (typeof warm)[number]) => number) =>
    list.reduce((sum, sample) => sum + of(sample), 0) / list.length;
  const grown =
    Math.max(...warm.map(({ residentMiB }) => residentMiB)) / (warm[0]?.residentMiB ?? 0) - 1;
  // CPU time per request tells of the filter; the rate tells of all that runs on the machine.
  const slower =
    mean(warm.slice(half), ({ cpuUs }) => cpuUs) / mean(warm.slice(0, half), ({ cpuUs }) => cpuUs) -
    1;
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  console.log(
    `${total} requests, ${failed} failed, ${errors} inner failures; after warm-up memory grew by ${percent(grown)}, CPU time per request by ${percent(slower)}; in flight ${inFlightZero ? "zero" : "not zero"} at the end`,
  );
  return failed === 0 && errors === 0 && inFlightZero && grown <= GROWTH && !(slower > SLOWER);
}

/** Very many answers that stream at once: bytes of Envoy for each, with and without the filter. */
async function streams(count: number): Promise<boolean> {
  const perStream: number[] = [];
  let good = true;
  for (const wasm of [false, undefined] as const) {
    const servers = await Promise.all(Array.from({ length: 3 }, startStreaming));
    const hosts = servers.map(({ host }) => host);
    const envoy = await startEnvoy({
      hosts,
      configuration: { hosts, metrics: { source: "none" } },
      ...(wasm === false ? { wasm } : {}),
      workers: 1,
      edit: withoutAccessLog,
    });
    const before = envoy.residentBytes();
    const started = Date.now();
    const clients = await openStreams(envoy.port, count);
    const open = servers.map((server) => server.open());
    const seconds = (Date.now() - started) / 1000;
    await sleep(6000);
    const bytes = (envoy.residentBytes() - before) / count;
    perStream.push(bytes);
    const inFlight = wasm === false ? Number.NaN : (await envoy.stats()).sum("warmroute_in_flight");
    for (const server of servers) server.end();
    const end = Date.now() + 30_000;
    while (clients.ended() < count && Date.now() < end) {
      await sleep(100);
    }
    const inFlightZero = wasm === false || (await settled(envoy));
    console.log(
      `${wasm === false ? "Envoy alone" : "with warmroute"}: ${count} streams open after ${seconds.toFixed(1)} s, ${clients.failed} failed, on the servers ${open.join(" + ")}; ${(bytes / 1024).toFixed(1)} KiB each (${(before / MIB).toFixed(0)} MiB before); ${clients.ended()} ended whole${wasm === false ? "" : `; in flight ${inFlight} then, ${inFlightZero ? "0" : "not 0"} afterwards`}`,
    );
    good &&= clients.failed === 0 && clients.ended() === count && inFlightZero;
    clients.stop();
    await envoy.stop();
    for (const server of servers) server.stop();
  }
  const [alone = 0, filtered = 0] = perStream;
  console.log(`the filter's part: ${((filtered - alone) / 1024).toFixed(1)} KiB a stream`);
  return good;
}
