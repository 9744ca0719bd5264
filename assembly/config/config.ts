import { Text, text } from "../bytes";
import { SIGNALS } from "./signals";

/**
 * What the user asked for. Every field starts at its default. Each docstring gives meaning, unit,
 * range and default. The wire name is the field's name in snake_case, below its section
 * (`metrics.interval_ms`).
 */
export class Config {
  /** Backends as Envoy prints them (`10.0.0.1:8000`, `[::1]:8000`), each once; 0..512, default none. */
  hosts: Array<Text> = [];
  /** How much of a body is read before the decision must fall: bytes, 4096..67108864, default 1048576. */
  inspectLimitBytes: i32 = 1048576;
  /** Adds the `x-warmroute-*` response headers; default false. */
  debugHeaders: bool = false;
  /**
   * Sets what access logs show as `%FILTER_STATE(wasm.warmroute.…:PLAIN)%`; default true. Where no access log shows any of it,
   * false saves a tenth of what Envoy does for a small request.
   */
  accessLogFields: bool = true;
  discovery: Discovery = new Discovery();
  metrics: Metrics = new Metrics();
  routing: Routing = new Routing();
  affinity: Affinity = new Affinity();
  cost: Cost = new Cost();
  health: Health = new Health();
  admission: Admission = new Admission();
  peers: Peers = new Peers();
  status: Status = new Status();
}

/** Where the host list comes from, besides `hosts`. */
export const enum DiscoverySource {
  None,
  /** Envoy's own admin interface, reached through a cluster. */
  EnvoyAdmin,
}

/** `discovery`: hosts and their health from Envoy's admin interface. */
export class Discovery {
  /** `none` or `envoy_admin`; default none. */
  source: DiscoverySource = DiscoverySource.None;
  /** Cluster that reaches the admin interface; 1..256 bytes, default `envoy_admin`. */
  cluster: Text = text("envoy_admin");
  /** Path to poll, starts with `/`; 1..2048 bytes. */
  path: Text = text("/clusters?format=json");
  /** Cluster whose members are the backends; 1..256 bytes, default `llm`. */
  targetCluster: Text = text("llm");
  /** Time between polls: ms, 100..3600000, default 1000. */
  intervalMs: i32 = 1000;
  /** A poll is given up after: ms, 10..60000, default 800. */
  timeoutMs: i32 = 800;
}

/** Where load reports come from. */
export const enum MetricsSource {
  None,
  /** Each backend's own metrics page. */
  Hosts,
  /** One endpoint that reports all backends. */
  Endpoint,
}

/** `metrics`: how servers' load is read. */
export class Metrics {
  /** `hosts`, `endpoint` or `none`; default hosts. */
  source: MetricsSource = MetricsSource.Hosts;
  /** Cluster to ask; 1..256 bytes, default `llm`. */
  cluster: Text = text("llm");
  /** Path to ask, with its query, starts with `/`; 1..2048 bytes, default `/metrics`. */
  path: Text = text("/metrics");
  /** Time between scrapes of one host: ms, 10..3600000, default 500. */
  intervalMs: i32 = 500;
  /** A scrape is given up after: ms, 10..60000, default 400. */
  timeoutMs: i32 = 400;
  /** A report this old counts for nothing: ms, at least two intervals, 20..86400000, default 5000. */
  staleAfterMs: i32 = 5000;
  /** Label that names the backend in an endpoint's answer; 1..128 bytes, default `instance`. */
  hostLabel: Text = text("instance");
  /** Metric names per signal, in place of the presets. */
  names: MetricNames = new MetricNames();
}

/** `metrics.names`: the user's metric names, by signal. */
export class MetricNames {
  /** One list per `Signal`: null = the presets; an empty list = this signal is not read; ≤ 16 names. */
  bySignal: StaticArray<Array<Text> | null> = new StaticArray<Array<Text> | null>(SIGNALS);
}

/** What becomes of a choice. */
export const enum RoutingMode {
  /** The choice is set on the request. */
  Enforce,
  /** The choice is only counted and logged. */
  Shadow,
}

/** `routing`: which requests count, and how the choice reaches Envoy. */
export class Routing {
  /** Request header that carries the choice, lower-case; 1..128 bytes. */
  header: Text = text("x-gateway-destination-endpoint");
  /** Further hosts after the first choice: 0..16, default 2. */
  fallbacks: i32 = 2;
  /** What counts as inference (see paths.ts for how an entry matches); ≤ 64 entries. */
  paths: Array<Text> = texts([
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/embeddings",
    "/v1/rerank",
    "/v2/rerank",
    "/rerank",
    "/v1/score",
    "/score",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/generate",
    "/generate_stream",
    "/completion",
    "/completions",
    "/chat/completions",
  ]);
  /** `enforce` or `shadow`; default enforce. */
  mode: RoutingMode = RoutingMode.Enforce;
}

/** `affinity`: which conversation a request belongs to, and what is remembered of it. */
export class Affinity {
  /** Session headers, lower-case, first match wins; ≤ 16. Per-request ids are refused. */
  headers: Array<Text> = texts([
    "x-session-id",
    "x-conversation-id",
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-affinity",
  ]);
  /** Body fields that name a session, after the headers, in order; dotted, ≤ 3 segments; ≤ 16. */
  bodyFields: Array<Text> = texts([
    "previous_response_id",
    "conversation",
    "prompt_cache_key",
    "session_id",
    "metadata.session_id",
    "metadata.conversation_id",
    "metadata.user_id",
  ]);
  /** Request header that names the tenant, lower-case; empty = none (default). Seeds the chain. */
  tenantHeader: Text = text("");
  /**
   * Seeds what is kept of sessions and prompts, so that nobody outside can work out which of them share a place in the location
   * table or a home; 16..256 bytes, the same on all gateways; empty = none (default).
   */
  hashSecret: Text = text("");
  /** Bound of the location table: bytes, 65536..268435456, default 8388608. */
  tableBytes: i32 = 8388608;
}

/** `cost`: priors of the cost model, learned over afterwards, and its weights. */
export class Cost {
  /** Bytes of text per token: 1..16, default 4. */
  bytesPerToken: f64 = 4.0;
  /** Tokens that one image takes: 0..100000, default 1024. */
  tokensPerImage: i32 = 1024;
  /** Prefill: ms per uncached token, 0.0001..1000, default 0.055 (from an 8B model on one GPU). */
  prefillMsPerToken: f64 = 0.055;
  /** Decode: ms per step of an empty batch, 0..10000, default 8 (same source). */
  decodeStepMs: f64 = 8.0;
  /** Decode: ms more per step for each sequence in the batch, 0..1000, default 0.25 (same source). */
  decodeMsPerSequence: f64 = 0.25;
  /** KV cache of a server that doesn't report it: tokens, 1000..1000000000, default 1000000. */
  cacheCapacityTokens: i32 = 1000000;
  /** Expected answer where nothing is known: tokens, 1..1000000, default 256. */
  outputTokens: i32 = 256;
  /** Learn speeds, lengths and capacity online; false keeps the priors; default true. */
  learn: bool = true;
  /** Price of making others wait: share of their ms, 0..10, default 0.2 (0.15..0.2 by simulation). */
  othersWaitWeight: f64 = 0.2;
  /** Price of displacing reused cache: share of its prefill ms, 0..10, default 1. */
  evictionWeight: f64 = 1.0;
  /** Price of a nearly full KV cache: share of own prefill and decode ms, 0..10, default 0.02 (0.1 drove coding agents from their caches in a model of the policy). */
  kvPressureWeight: f64 = 0.02;
  /** Price of a busy GPU: share of own prefill and decode ms, 0..10, default 0.1: enough to outweigh `tie_ms` where nothing else is known. */
  gpuPressureWeight: f64 = 0.1;
  /** Hosts within this of the cheapest are ordered by hash: ms, 0..10000, default 5 (by simulation: 15 costs light prompts, 0 agreement). */
  tieMs: f64 = 5.0;
  /** Bonus of a cold prompt's home: share of its prefill ms, 0..100, default 1.5. */
  homeWeight: f64 = 1.5;
}

/** `health`: when a host is set aside. */
export class Health {
  /** Consecutive connect errors, resets, 5xx, or errors inside answers with status 200, that set a host aside: 1..1000, default 3. */
  failures: i32 = 3;
  /** For how long at first, doubling each time: ms, 100..3600000, default 10000. */
  ejectMs: i32 = 10000;
  /** Where the doubling ends; less than `ejectMs` counts as that: ms, 100..86400000, default 300000. */
  ejectMaxMs: i32 = 300000;
  /**
   * A request whose answer hasn't begun after this, or after 10 times what was expected of all of it, goes to the next host as
   * well: ms, 0..86400000, default 60000; 0 = never.
   */
  silenceMs: i32 = 60000;
}

/** What becomes of a request whose stated goal (`x-slo-ttft-ms`) can't be met any more. */
export const enum SloMissed {
  /** It is answered 429: nobody's goal is missed for its sake. */
  Reject,
  /** It waits until nobody is left whose goal can be met. */
  Lower,
}

/** `admission`: when a host has no room, and what waits then. */
export class Admission {
  /** Off: every request goes straight through; default true. */
  enabled: bool = true;
  /** Expected wait that means no room: ms, 1..3600000, default 10000. */
  maxWaitMs: i32 = 10000;
  /** Expected wait at every host from which on requests are bound late: ms, 1..3600000, default 20. */
  lateBindingMs: i32 = 20;
  /** Time per output token that servers keep to while requests are held: ms, 0..60000, default 100; 0 = none. */
  tpotMs: i32 = 100;
  /** Reported waiting requests that mean no room: 1..1000000, default 64. */
  maxWaiting: i32 = 64;
  /** Reported KV use that means no room: share, 0.01..1, default 0.98. */
  maxKvUsage: f64 = 0.98;
  /** Requests held at most, per Envoy: 0..100000, default 1024; 0 holds none. */
  queueLimit: i32 = 1024;
  /** Body bytes held at most, per Envoy: 0..1099511627776, default 268435456. */
  queueBytes: i64 = 268435456;
  /** Longest wait before 429: ms, 1..3600000, default 30000. */
  queueTimeoutMs: i32 = 30000;
  /** `reject` or `lower`; default reject. Nobody is refused for it while a host has room. */
  slo: SloMissed = SloMissed.Reject;
  /** Request header with the priority, lower-case; empty = none. */
  priorityHeader: Text = text("x-warmroute-priority");
  /** Whose requests have priority 10, and −10, if their header states none: paths as in `routing.paths`, or names of models; ≤ 64. */
  highPriority: Array<Text> = new Array<Text>();
  lowPriority: Array<Text> = new Array<Text>();
  /** Request header that names the tenant; after parsing, empty only if no tenant header is set at all. */
  tenantHeader: Text = text("");
  /** A prompt is heavy from here: tokens, 1..100000000; 0 = learned (null or absent, the default). */
  heavyPromptTokens: i32 = 0;
  /** Share of the servers, and of each one's room, that heavy prompts may use whatever light ones need: 0.01..1, default 0.5. */
  heavyShare: f64 = 0.5;
}

/** `peers`: exchange with other gateways. */
export class Peers {
  /**
   * True on the gateways' internal listener: there the filter takes other gateways' messages at `path`, for the filter with
   * the same `vm_config` and `root_id` that routes, and answers 404 to everything else. Default false.
   */
  serve: bool = false;
  /** Cluster of the gateways' internal listeners; empty = off (default). */
  cluster: Text = text("");
  /** The gateways' `ip:port`, each once; 0..64, default none. */
  hosts: Array<Text> = [];
  /** Path of the exchange on the internal listener, starts with `/`; 1..256 bytes. */
  path: Text = text("/warmroute/peers");
  /** A placement with this many uncached tokens is pushed at once: 0..1000000, default 128. */
  pushTokens: i32 = 128;
  /** Least time between two pushes: ms, 0..1000, default 5. */
  gapMs: i32 = 5;
  /** Time between full exchanges: ms, 50..60000, default 1000. */
  fullMs: i32 = 1000;
  /** An exchange is given up after: ms, 10..60000, default 500. */
  timeoutMs: i32 = 500;
}

/** `status`: the status page. */
export class Status {
  /** Path of the page, starts with `/`; empty = off (default). `<path>.json` holds the data. */
  path: Text = text("");
}

function texts(list: string[]): Array<Text> {
  const out = new Array<Text>();
  for (let i = 0; i < list.length; i++) out.push(text(list[i]));
  return out;
}
