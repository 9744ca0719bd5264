/** Samples the filter in the test host: where its own time goes. Usage below. */
import { Session } from "node:inspector/promises";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { commandLine, parts, whole } from "../../tools/commandline.ts";
import { type Exchange, Gateway } from "../filter/gateway.ts";
import type { Call } from "../host/calls.ts";
import { answerOf, endpointOf } from "./answers.ts";
import { COUNTER, chatBodies, parseSize } from "./bodies.ts";

setFlagsFromString("--no-liftoff");
setFlagsFromString("--wasm-enforce-bounds-checks");

const USAGE = `node tools/run.mjs tests/bench/replay.ts [options]

Where the filter's own time goes, function by function: sends requests through the test host, on Node's
V8 with Envoy's settings (TurboFan from the start, bounds of memory checked by code), and samples it. What
host calls cost in Envoy isn't in it; for that there is npm run bench.

  --bodies 1k,32k   sizes of the chat bodies (1k)
  --hosts N         (3)
  --stream          streamed answers
  --requests N      of each size (as many as make 100 MB, of 2,000 to 20,000)
  --top N           functions shown (25)

Function names are there if WARMROUTE_WASM names a build that has them:
npx asc assembly/index.ts --target release --debug --outFile FILE
`;

const options = commandLine(USAGE, (args) => {
  const { values } = parseArgs({
    args,
    options: {
      bodies: { type: "string", default: "1k" },
      hosts: { type: "string", default: "3" },
      stream: { type: "boolean", default: false },
      requests: { type: "string" },
      top: { type: "string", default: "25" },
    },
  });
  const { requests } = values;
  return {
    bodies: parts(values.bodies).map((spelled) => ({ spelled, bytes: parseSize(spelled) })),
    hosts: whole("--hosts", values.hosts, 1, 254),
    streamed: values.stream,
    requests: requests === undefined ? undefined : whole("--requests", requests, 1, 1e9),
    top: whole("--top", values.top, 1, 10_000),
  };
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
  const head = `POST /v1/chat/completions HTTP/1.1${options.streamed ? "\r\nx-bench-stream: 1" : ""}`;
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
  const bodies = chatBodies(count, size, 1, options.streamed).map((text) => Buffer.from(text));
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

const { hosts } = options;
for (const { spelled, bytes } of options.bodies) {
  const enough = Math.round(Math.max(2000, Math.min(20_000, RUN_BYTES / bytes)));
  const used = await profile(bytes, hosts, options.requests ?? enough);
  const total = used.reduce((sum, [, us]) => sum + us, 0);
  console.log(`${spelled} bodies, ${hosts} hosts: ${total.toFixed(1)} µs in the VM per request`);
  for (const [name, us] of used.slice(0, options.top)) {
    console.log(`${us.toFixed(2).padStart(8)}  ${name}`);
  }
}
