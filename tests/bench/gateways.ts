/** `npm run bench -- gateways`: what a message between gateways costs. */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { commandLine, number } from "../../tools/commandline.ts";
import { buildIfStale } from "../../tools/compile.ts";
import { freePorts } from "../../tools/envoy/ports.ts";
import { type EnvoyProcess, startEnvoy } from "../../tools/envoy/process.ts";
import { random, words } from "../../tools/seeded.ts";
import { post } from "../e2e/client.ts";
import { configuration } from "../e2e/harness.ts";
import { startSinks } from "../e2e/sink.ts";

const USAGE = `npm run bench -- gateways [options]

What a message between gateways costs, and a gateway of several per request.

  --seconds N   of load, three times (10)
  --rate X      new prompts per second (150)
`;

const { seconds, rate } = commandLine(USAGE, (args) => {
  const { values } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      seconds: { type: "string", default: "10" },
      rate: { type: "string", default: "150" },
    },
  });
  return {
    seconds: number("--seconds", values.seconds, 1, 3600),
    rate: number("--rate", values.rate, 1, 10_000),
  };
});

/** What a gateway used and sent during a run. */
interface Usage {
  cpuMs: number;
  sent: number;
  bytes: number;
  received: number;
}

async function usageOf(gateway: EnvoyProcess): Promise<Usage> {
  const stats = await gateway.stats();
  const sum = (name: string) => stats.sum(`warmroute_peer_${name}_total`) || 0;
  return {
    cpuMs: gateway.cpuMs(),
    sent: sum("messages_sent"),
    bytes: sum("bytes_sent"),
    received: sum("messages_received"),
  };
}

function minus(after: Usage, before: Usage): Usage {
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    sent: after.sent - before.sent,
    bytes: after.bytes - before.bytes,
    received: after.received - before.received,
  };
}

/** New prompts of 4 KB through a gateway, at a steady rate; what each gateway used meanwhile. */
async function load(gateways: EnvoyProcess[], busy: boolean): Promise<Usage[]> {
  await sleep(2500);
  const before = await Promise.all(gateways.map(usageOf));
  const endMs = performance.now() + 1000 * seconds;
  const open = new Set<Promise<unknown>>();
  for (let i = 0; performance.now() < endMs; i++) {
    if (busy) {
      const content = words(random(i), 4000);
      const messages = [{ role: "user", content }];
      const request = post(gateways[0]?.port ?? 0, { model: "m", messages });
      open.add(request);
      void request.finally(() => open.delete(request));
    }
    await sleep(1000 / rate);
  }
  await Promise.all(open);
  const after = await Promise.all(gateways.map(usageOf));
  return after.map((usage, i) => minus(usage, before[i] as Usage));
}

const built = buildIfStale();
if (!built.ok) throw new Error(built.message);
const sinks = await startSinks(8);
const hosts = sinks.map((sink) => sink.host);

async function run(count: number, busy: boolean): Promise<Usage[]> {
  const ports = await freePorts(count);
  const members = ports.map((port) => `127.0.0.1:${port}`);
  const peers = count > 1 ? { peers: { cluster: "warmroute_peers", hosts: members } } : {};
  const gateways = await Promise.all(
    ports.map((port) =>
      startEnvoy({
        hosts,
        configuration: configuration(hosts, { debug_headers: false, ...peers }),
        ...(count > 1 ? { peers: { port, hosts: members } } : {}),
      }),
    ),
  );
  try {
    return await load(gateways, busy);
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
  }
}

const [alone] = (await run(1, true)) as [Usage];
const quiet = await run(2, false);
const told = await run(2, true);
const [teller, listener] = told as [Usage, Usage];
const [idle] = quiet as [Usage, Usage];
const messages = teller.sent - idle.sent;
const us = (cpuMs: number, count: number) => ((1000 * cpuMs) / count).toFixed(0);
console.log(`${rate} new prompts of 4 KB a second, 8 servers, ${seconds} s, one worker each`);
console.log(`one gateway alone        ${us(alone.cpuMs, rate * seconds)} µs of CPU per request`);
console.log(`  telling another        ${us(teller.cpuMs, rate * seconds)} µs per request`);
console.log(
  `message sent             ${us(teller.cpuMs - alone.cpuMs - idle.cpuMs, messages)} µs (${messages} messages, ${(teller.bytes / teller.sent).toFixed(0)} bytes each)`,
);
console.log(
  `message received         ${us(listener.cpuMs - (quiet[1] as Usage).cpuMs, messages)} µs`,
);
console.log(
  `silence between two      ${us(idle.cpuMs, seconds)} µs a second, ${(idle.sent / seconds).toFixed(1)} messages a second`,
);
await Promise.all(sinks.map((sink) => sink.stop()));
