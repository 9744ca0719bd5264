import { readdirSync, readFileSync } from "node:fs";
import { filterModule } from "../filter/gateway.ts";
import type { Pairs } from "../host/abi.ts";
import type { Call } from "../host/calls.ts";
import { ManualClock } from "../host/clock.ts";
import { Host } from "../host/host.ts";
import type { Stream } from "../host/stream.ts";
import type { Root } from "../host/vm.ts";
import { Generator } from "./generate.ts";
import { countInput } from "./inputs.ts";
import { mutateBytes } from "./mutate.ts";
import type { Random } from "./random.ts";

/** The servers; discovery and clients name others too. */
export const SERVERS = ["10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000", "[fd00::1]:8000"];
export const ROUTING = "x-gateway-destination-endpoint";

const folder = (name: string) => new URL(`../fixtures/${name}/`, import.meta.url);
const load = (name: string) =>
  readdirSync(folder(name))
    .sort()
    .map((file) => new Uint8Array(readFileSync(new URL(file, folder(name)))));

/** Headers that are read, and what clients may put there. */
const HEADERS: [name: string, values: readonly string[]][] = [
  [ROUTING, ["10.0.0.1:8000", "evil:1", "", "10.0.0.9:1,10.0.0.1:8000", "\u00e9,,"]],
  [
    "content-type",
    [
      "application/json",
      "text/plain; charset=utf-16",
      "multipart/form-data; boundary=x",
      "",
      'JSON;charset="UTF-8"',
      ";;;",
    ],
  ],
  ["content-encoding", ["gzip", "identity", "br, gzip", "IDENTITY", ""]],
  ["content-length", ["0", "-1", "99999999999999999999", "1e3", "x", " 5"]],
  ["x-session-id", ["s-1", "s-2", "", "\u0000", "x".repeat(5000)]],
  ["x-tenant", ["t-1", "t-2", ""]],
  [
    "x-warmroute-priority",
    ["100", "-100", "101", "high", "low", "HIGH", "1.5", "99999999999999999999", "-", ""],
  ],
  ["x-request-timeout-ms", ["1", "100", "0", "-5", "1e9", "9007199254740993", "abc"]],
  ["x-envoy-expected-rq-timeout-ms", ["50", "60000", "x"]],
  ["x-slo-ttft-ms", ["1", "200", "-1"]],
  ["x-warmroute-host", ["10.0.0.1:8000"]],
  ["x-warmroute-key", ["0000000000000001"]],
];

const ANSWER_HEADERS: [name: string, values: readonly string[]][] = [
  ["content-type", ["application/json", "text/event-stream", "text/event-streams", "", "text/"]],
  ["content-encoding", ["gzip", ""]],
  ["retry-after", ["1", "-1", "1e9", "Wed, 21 Oct 2015 07:28:00 GMT", "", "99999999999999999999"]],
  [
    "endpoint-load-metrics",
    [
      "TEXT named_metrics.kv_cache_usage_perc=0.4",
      'JSON {"named_metrics":{"num_requests_running":1e308}}',
      "JSON {",
      "TEXT =,=,",
      "BIN x",
    ],
  ],
  ["x-warmroute-reason", ["spoofed"]],
];

const STATUSES = [
  "200",
  "200",
  "200",
  "200",
  "400",
  "429",
  "500",
  "503",
  "0",
  "abc",
  "99999999999",
];
const PATHS = [
  "/v1/chat/completions",
  "/v1/completions",
  "/v1/responses",
  "/v1/messages?x=1",
  "/v1/models",
  "/",
  "",
  "/v1/chat/completions/",
  "/warmroute",
  "/warmroute.json",
];
const DETAILS = [
  "via_upstream",
  "upstream_reset_before_response_started{connection_failure}",
  "route_not_found",
  "",
];

/** A gateway in a hostile world: everything that comes in, from clients and servers, is made up or damaged at random. */
export class HostileWorld {
  readonly host: Host;
  readonly roots: Root[];
  private readonly open: Stream[] = [];
  private readonly bodies = load("bodies");
  private readonly pages = load("metrics");
  private readonly generator: Generator;
  requests = 0;
  /** Told of each request that has gone on to a server. */
  onSent: (stream: Stream) => void = () => {};

  private readonly random: Random;

  constructor(random: Random, workers = 2) {
    this.random = random;
    this.generator = new Generator(random);
    this.host = new Host({
      clock: new ManualClock(),
      clusters: ["llm", "envoy_admin"],
      allowOnHeadersStopIteration: true,
      onCall: (call) => this.called(call),
    });
    const config = JSON.stringify({
      hosts: SERVERS,
      debug_headers: true,
      discovery: { source: "envoy_admin", interval_ms: 1000 },
      metrics: { interval_ms: 500, stale_after_ms: 2000 },
      affinity: { tenant_header: "x-tenant", table_bytes: 262144 },
      admission: { max_wait_ms: 200, max_waiting: 4, queue_limit: 8, queue_timeout_ms: 2000 },
      health: { eject_ms: 500, eject_max_ms: 2000 },
      status: { path: "/warmroute" },
    });
    this.roots = Array.from({ length: workers }, () => {
      const root = this.host
        .createVm(filterModule(), { vmId: "warmroute" })
        .createRoot({ rootId: "warmroute", config });
      if (!root.accepted) throw new Error(this.host.logs.map(({ message }) => message).join("; "));
      return root;
    });
    this.host.advance(200);
  }

  /** Bytes of memory of all VMs. */
  get memoryBytes(): number {
    return this.roots.reduce((sum, root) => sum + root.vm.memoryBytes, 0);
  }

  /** One step: a request comes, goes on, is answered or breaks off, or time passes. */
  step(): void {
    countInput();
    const { random, open } = this;
    const at = random.below(open.length + 1);
    const stream = open[at];
    if (open.length < 24 && (stream === undefined || random.below(3) === 0)) {
      open.push(this.request());
    } else if (stream !== undefined) {
      this.answer(stream);
      if (!stream.finished && random.below(4) === 0) stream.clientReset();
      if (stream.finished) open.splice(open.indexOf(stream), 1);
    }
    if (random.below(8) === 0) this.host.advance(random.pick([1, 20, 100, 600]));
  }

  /** All that is open ends, and time passes until everybody knows. */
  settle(): void {
    for (const stream of this.open.splice(0)) if (!stream.finished) stream.clientReset();
    this.host.advance(6000);
  }

  private request(): Stream {
    const { random } = this;
    this.requests++;
    const stream = random.pick(this.roots).createStream({ cluster: "llm" });
    const body = this.body();
    const pairs: [string, string][] = [
      [":method", random.pick(["POST", "POST", "POST", "GET", "PUT", ""])],
      [":path", random.below(4) > 0 ? "/v1/chat/completions" : random.pick(PATHS)],
      [":authority", "llm.example"],
    ];
    for (const [name, values] of HEADERS) {
      for (let copies = random.below(6) === 0 ? 1 + random.below(2) : 0; copies > 0; copies--) {
        pairs.push([name, this.value(values)]);
      }
    }
    const bodiless = body.length === 0 || random.below(20) === 0;
    stream.requestHeaders(pairs as Pairs, bodiless);
    if (bodiless) return stream;
    for (let from = 0; from < body.length && !stream.finished; ) {
      const to = Math.min(from + 1 + random.below(body.length), body.length);
      const ends = to === body.length && random.below(8) > 0;
      stream.requestBody(body.subarray(from, to), ends);
      if (to === body.length && !ends && random.below(2) === 0)
        stream.requestTrailers([["x-t", "1"]]);
      if (random.below(40) === 0) {
        stream.clientReset();
        break;
      }
      from = to;
    }
    return stream;
  }

  private answer(stream: Stream): void {
    const { random } = this;
    if (stream.finished || stream.localReply) {
      if (!stream.finished) stream.clientReset();
      return;
    }
    if (random.below(10) === 0) {
      stream.upstreamReset();
      return;
    }
    if (!stream.response.sentHeaders) {
      if (stream.request.sentHeaders) this.onSent(stream);
      const choice = stream.headers.get(ROUTING)?.split(",") ?? [];
      stream.upstreamAddress =
        random.below(8) === 0
          ? random.pick([...SERVERS, "10.9.9.9:1", ""])
          : (choice[0] ?? SERVERS[0]);
      if (random.below(6) === 0) stream.details = random.pick(DETAILS);
      const pairs: [string, string][] = [[":status", random.pick(STATUSES)]];
      for (const [name, values] of ANSWER_HEADERS) {
        if (random.below(3) === 0) pairs.push([name, this.value(values)]);
      }
      stream.responseHeaders(pairs as Pairs, random.below(12) === 0);
      return;
    }
    stream.responseBody(this.answerBytes(), random.below(2) === 0);
  }

  private value(values: readonly string[]): string {
    const value = this.random.pick(values);
    if (this.random.below(6) > 0) return value;
    return Buffer.from(mutateBytes(Buffer.from(value), this.random))
      .toString("latin1")
      .replace(/[\r\n]/g, "");
  }

  private body(): Uint8Array {
    const { random } = this;
    const kind = random.below(10);
    if (kind === 0) return new Uint8Array(0);
    const plain = kind < 6 ? this.generator.body() : random.pick(this.bodies);
    return kind % 2 === 0 ? mutateBytes(plain, random) : plain;
  }

  private answerBytes(): Uint8Array {
    const { random } = this;
    const usage = {
      prompt_tokens: random.pick([5, -1, 1e300, 200000]),
      completion_tokens: random.below(900),
      prompt_tokens_details: { cached_tokens: random.pick([0, 4, 1e15]) },
    };
    const text = JSON.stringify({
      id: random.pick(["c-1", "resp_1", ""]),
      choices: [{ delta: { content: "x" } }],
      usage,
    });
    const bytes = Buffer.from(random.below(2) === 0 ? text : `data: ${text}\n\ndata: [DONE]\n\n`);
    return random.below(3) === 0 ? mutateBytes(bytes, random) : bytes;
  }

  private called(call: Call): void {
    const { random } = this;
    const kind = random.below(8);
    if (kind === 0) call.refuse();
    else if (kind === 1) call.respond(random.pick([200, 404, 500]), "<html>");
    else {
      const page = random.pick(this.pages);
      call.respond(200, Buffer.from(kind < 5 ? page : mutateBytes(page, random)));
    }
  }
}
