/**
 * `npm run bench -- gateways`: what a message between gateways costs where it is sent and where it comes.
 *
 * Two gateways get the same requests in turn: one has nobody to tell, the other tells a third one, which gets no requests. What
 * the second needs more for a request, over its messages for one, is the price of sending; what the third needs, over the
 * messages that it got, that of receiving. What each needs with nothing to do is taken off.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { commandLine, number } from "../../tools/commandline.ts";
import { buildIfStale } from "../../tools/compile.ts";
import { freePorts } from "../../tools/envoy/ports.ts";
import { type EnvoyProcess, startEnvoy } from "../../tools/envoy/process.ts";
import { post } from "../e2e/client.ts";
import { configuration } from "../e2e/harness.ts";
import { type BodyFolder, load, writeBodies } from "./load.ts";
import { startBackend } from "./measure.ts";

const BODY_BYTES = 4096;
const SERVERS = 8;
const ROUTER_CORE = 0;
const LOAD_CORE = 1;
/** Each request is told by itself, at once: else more than 200 a second share messages. */
const TELL_ALL = { gap_ms: 0, push_tokens: 1 };

interface Use {
  /** CPU time of the one who tells, or has nobody to tell, and of the one who hears, ms. */
  tellerMs: number;
  hearerMs: number;
  requests: number;
  messages: number;
  bytes: number;
}

const USAGE = `npm run bench -- gateways [options]

What a message between gateways costs where it is sent and where it comes (Linux, two cores, wrk).

  --rounds N    of gateways in turn (5)
  --seconds N   of load in each (3)
  --rates R,S   requests per second; max: as many as it takes (150,max)
`;

const { rounds, seconds, rates } = commandLine(USAGE, (args) => {
  const { values } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      rates: { type: "string", default: "150,max" },
    },
  });
  return {
    rounds: number("--rounds", values.rounds, 1, 1000),
    seconds: number("--seconds", values.seconds, 1, 3600),
    rates: values.rates
      .split(",")
      .map((rate) => (rate === "max" ? "max" : number("--rates", rate, 1, 10_000))),
  };
});

/** CPU time of all threads, by the scheduler's own count, ms. */
function cpuMs({ pid }: EnvoyProcess): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const ns = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
  );
  return ns.reduce((sum, each) => sum + each, 0) / 1e6;
}

const bodiesOf = (folder: BodyFolder): string[] =>
  readdirSync(folder.folder).map((file) => readFileSync(`${folder.folder}/${file}`, "utf8"));

let serial = 0;
/** Requests to a port for some seconds, at a steady rate or as many as it takes; resolves with how many were answered. */
async function ask(port: number, rate: number | "max", bodies: BodyFolder): Promise<number> {
  if (rate === "max") {
    const options = { seconds, connections: 16, core: LOAD_CORE };
    return (await load(port, bodies, options)).requests;
  }
  const texts = bodiesOf(bodies);
  const open: Promise<unknown>[] = [];
  const startMs = performance.now();
  while (performance.now() - startMs < 1000 * seconds) {
    const due = ((performance.now() - startMs) * rate) / 1000;
    while (open.length < due) {
      const text = texts[serial % texts.length] as string;
      const number = String(++serial).padStart(8, "0");
      open.push(post(port, JSON.parse(text.replace("00000000", number))));
    }
    await sleep(1);
  }
  await Promise.all(open);
  return open.length;
}

async function used(
  teller: EnvoyProcess,
  hearer: EnvoyProcess,
  work: () => Promise<number>,
): Promise<Use> {
  const told = async () => {
    const stats = await teller.stats();
    const sum = (name: string) => stats.sum(`warmroute_peer_${name}_sent_total`) || 0;
    return { messages: sum("messages"), bytes: sum("bytes") };
  };
  const before = await told();
  const startMs = [cpuMs(teller), cpuMs(hearer)] as const;
  const requests = await work();
  const tellerMs = cpuMs(teller) - startMs[0];
  const hearerMs = cpuMs(hearer) - startMs[1];
  const after = await told();
  const messages = after.messages - before.messages;
  return { tellerMs, hearerMs, requests, messages, bytes: after.bytes - before.bytes };
}

/** What some work took, without what the same time takes with nothing to do. */
function without(use: Use, idle: Use): Use {
  return {
    ...use,
    tellerMs: use.tellerMs - idle.tellerMs,
    hearerMs: use.hearerMs - idle.hearerMs,
    messages: use.messages - idle.messages,
  };
}

/** Median, and from least to most. */
function spread(all: number[]): string {
  const sorted = [...all].sort((a, b) => a - b);
  const [least, middle, most] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map(
    (at) => sorted[at]?.toFixed(0) ?? "",
  );
  return `${middle?.padStart(5)} (${least} to ${most})`;
}

const built = buildIfStale();
if (!built.ok) throw new Error(built.message);
const backend = await startBackend(SERVERS);
const bodies = writeBodies(BODY_BYTES, 1, false);
const ports = await freePorts(2);
const members = ports.map((port) => `127.0.0.1:${port}`);
const { hosts } = backend;
const peers = { cluster: "warmroute_peers", hosts: members, ...TELL_ALL };
const start = (core: number, port?: number) =>
  startEnvoy({
    hosts,
    core,
    configuration: configuration(hosts, { debug_headers: false, ...(port ? { peers } : {}) }),
    ...(port ? { peers: { port, hosts: members } } : {}),
  });
const alone = await start(ROUTER_CORE);
const teller = await start(ROUTER_CORE, ports[0]);
const hearer = await start(LOAD_CORE, ports[1]);
try {
  // They have met, and are warm.
  await sleep(2000);
  for (const gateway of [alone, teller]) await ask(gateway.port, "max", bodies);
  console.log(
    `New prompts of 4 KB to one worker before ${SERVERS} servers, each request told at once; ${rounds} rounds of ${seconds} s; ` +
      `CPU time in µs, median (least to most)\n`,
  );
  const idle = async () => {
    await sleep(1000 * seconds);
    return 0;
  };
  for (const rate of rates) {
    const rows = { alone: [], told: [], sent: [], received: [] } as Record<string, number[]>;
    let messagesPerS = 0;
    let bytes = 0;
    for (let round = 0; round < rounds; round++) {
      const quiet = await used(teller, hearer, idle);
      const quietAlone = await used(alone, hearer, idle);
      const one = without(
        await used(alone, hearer, () => ask(alone.port, rate, bodies)),
        quietAlone,
      );
      const two = without(await used(teller, hearer, () => ask(teller.port, rate, bodies)), quiet);
      const aloneUs = (1000 * one.tellerMs) / one.requests;
      const toldUs = (1000 * two.tellerMs) / two.requests;
      rows.alone?.push(aloneUs);
      rows.told?.push(toldUs);
      rows.sent?.push(((toldUs - aloneUs) * two.requests) / two.messages);
      rows.received?.push((1000 * two.hearerMs) / two.messages);
      messagesPerS = two.messages / seconds;
      bytes = two.bytes / two.messages;
    }
    console.log(
      `${rate === "max" ? "as many requests as it takes" : `${rate} requests a second`}: ` +
        `${messagesPerS.toFixed(0)} messages a second of ${bytes.toFixed(0)} bytes`,
    );
    console.log(`  a request, nobody to tell  ${spread(rows.alone ?? [])}`);
    console.log(`  a request that is told     ${spread(rows.told ?? [])}`);
    console.log(`  a message where it is sent ${spread(rows.sent ?? [])}`);
    console.log(`  … and where it comes       ${spread(rows.received ?? [])}\n`);
  }
} finally {
  await Promise.all([alone, teller, hearer].map((gateway) => gateway.stop()));
  bodies.remove();
  await backend.stop();
}
