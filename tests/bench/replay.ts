/**
 * Where the filter's own time goes, function by function: sends requests through the test host, on Node's V8 with Envoy's
 * settings (TurboFan from the start, bounds of memory checked by code), and samples it. What host calls cost in Envoy isn't in
 * it; for that there is `npm run bench`.
 *
 *   node tools/run.mjs tests/bench/replay.ts [--bodies 1k,32k,256k] [--hosts 3] [--stream] [--requests N] [--top 25]
 *
 * Function names are there if WARMROUTE_WASM names a build that has them:
 * `npx asc assembly/index.ts --target release --debug --outFile FILE`.
 */
import { Session } from "node:inspector/promises";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { type Exchange, Gateway } from "../filter/gateway.ts";
import type { Call } from "../host/calls.ts";
import { answerOf, endpointOf } from "./answers.ts";
import { COUNTER, chatBodies, parseSize } from "./bodies.ts";

setFlagsFromString("--no-liftoff");
setFlagsFromString("--wasm-enforce-bounds-checks");

const { values } = parseArgs({
  options: {
    bodies: { type: "string", default: "1k" },
    hosts: { type: "string", default: "3" },
    stream: { type: "boolean", default: false },
    requests: { type: "string" },
    top: { type: "string", default: "25" },
  },
});

/** Requests in flight at once. */
const IN_FLIGHT = 16;
const SAMPLE_US = 100;
/** Body bytes that a run reads in all, unless told how many requests. */
const RUN_BYTES = 1e8;
const BODIES_BYTES = 32 * 1024 * 1024;

/** What servers report. */
const report = bodyOf(answerOf(endpointOf("GET /metrics HTTP/1.1"), 0, Buffer.alloc(0)));

function bodyOf(message: Buffer): string {
  const text = message.toString();
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}

/** Answers a request as the benchmark's backend does. */
function answer(exchange: Exchange, bytes: number): void {
  const { stream } = exchange;
  const head = `POST /v1/chat/completions HTTP/1.1${values.stream ? "\r\nx-bench-stream: 1" : ""}`;
  const message = answerOf(endpointOf(head), bytes, Buffer.alloc(0)).toString();
  const body = bodyOf(Buffer.from(message));
  const type = /content-type: (\S+)/.exec(message)?.[1] ?? "";
  stream.upstreamAddress = exchange.target;
  stream.responseHeaders([
    [":status", "200"],
    ["content-type", type],
    ["content-length", `${body.length}`],
  ]);
  stream.responseBody(body, true);
}

/** Sends requests of a size; returns what each function of the filter used, in µs per request. */
async function profile(size: number, hosts: number, requests: number): Promise<[string, number][]> {
  const addresses = Array.from({ length: hosts }, (_unused, i) => `10.0.0.${i + 1}:8000`);
  // Scrapes are answered in the next moment, by what the benchmark's backend says.
  const calls: Call[] = [];
  const gateway = new Gateway(addresses, {
    config: { debug_headers: false, metrics: { source: "hosts" } },
    onCall: (call) => calls.push(call),
  });
  const count = Math.max(8, Math.min(256, Math.floor(BODIES_BYTES / size)));
  const bodies = chatBodies(count, size, 1, values.stream).map((text) => Buffer.from(text));
  const counters = bodies.map((body) => body.lastIndexOf(COUNTER));
  const open: Exchange[] = [];
  let made = 0;
  const send = () => {
    const i = made++ % bodies.length;
    const body = bodies[i] as Buffer;
    body.write(String(made).padStart(COUNTER.length, "0"), counters[i] as number, "latin1");
    open.push(gateway.send(body));
    gateway.host.advance(0.1);
    for (let call = calls.pop(); call !== undefined; call = calls.pop()) call.respond(200, report);
    if (open.length > IN_FLIGHT) answer(open.shift() as Exchange, body.length);
  };
  for (let i = 0; i < requests / 4; i++) send();
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: SAMPLE_US });
  await session.post("Profiler.start");
  for (let i = 0; i < requests; i++) send();
  const result = await session.post("Profiler.stop");
  session.disconnect();
  const frames = new Map(result.profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const used = new Map<string, number>();
  (result.profile.samples ?? []).forEach((id, i) => {
    const frame = frames.get(id);
    if (!frame?.url.startsWith("wasm://")) return;
    // While another program had the core, time passed for nobody.
    const us = Math.min(result.profile.timeDeltas?.[i] ?? 0, 2 * SAMPLE_US);
    used.set(frame.functionName, (used.get(frame.functionName) ?? 0) + us / requests);
  });
  return [...used].sort((a, b) => b[1] - a[1]);
}

const hosts = Number(values.hosts);
for (const spelled of values.bodies.split(",")) {
  const size = parseSize(spelled);
  const requests = Number(values.requests ?? Math.max(2000, Math.min(20_000, RUN_BYTES / size)));
  const used = await profile(size, hosts, Math.round(requests));
  const total = used.reduce((sum, [, us]) => sum + us, 0);
  console.log(`${spelled} bodies, ${hosts} hosts: ${total.toFixed(1)} µs in the VM per request`);
  for (const [name, us] of used.slice(0, Number(values.top))) {
    console.log(`${us.toFixed(2).padStart(8)}  ${name}`);
  }
}
