import { instantiate } from "./build.ts";
import { countInput, watchMemory } from "./inputs.ts";

/** The test entry `assembly/metrics.ts`. */
interface Entry {
  memory: WebAssembly.Memory;
  inputAddress(): number;
  metricsBegin(isEndpoint: boolean, nowMs: number): void;
  metricsFeed(offset: number, len: number): void;
  metricsFinish(): number;
  metricsCount(): number;
  metricsMalformed(): number;
  metricsMatched(): number;
  reportAt(i: number): number;
  reportField(field: number): number;
  reportModel(offset: number, len: number): number;
  number(len: number): number;
  numberIsOk(): number;
  orcaRead(len: number): number;
  orcaField(field: number): number;
  clustersBegin(target: number): void;
  clustersFeed(offset: number, len: number): void;
  clustersFinish(): number;
  clustersCount(): number;
  clusterAddress(i: number): number;
  clusterAddressLength(i: number): number;
  clusterHost(i: number): number;
  usageBegin(isEventStream: boolean): void;
  usageFeed(offset: number, len: number): void;
  usageFinish(): void;
  usageField(field: number): number;
  usageId(): bigint;
  hash(offset: number, len: number): bigint;
}

/** Fields of a report, in the order of the entry's numbers. */
const FIELDS = [
  "running",
  "waiting",
  "kvUsage",
  "gpuUtilization",
  "prefixHits",
  "prefixQueries",
  "promptTokens",
  "generationTokens",
  "iterationTokens",
  "capacityTokens",
  "startTimeS",
  "timestampMs",
] as const;

/** What was said, without what wasn't; `host` is the endpoint's number. */
export type Report = { host: number } & { [field in (typeof FIELDS)[number]]?: number };

export interface Metrics {
  ok: boolean;
  matched: number;
  malformed: number;
  reports: Report[];
}

export interface ClusterHost {
  address: string;
  usable: boolean;
  degraded: boolean;
  requests: number;
}

export interface Usage {
  prompt: number;
  completion: number;
  cached: number;
  events: number;
  done: boolean;
  id: bigint;
}

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Calls the readers with input cut at the given places. */
export class Readers {
  private entry: Entry;

  constructor(entry: Entry) {
    this.entry = entry;
    watchMemory("answers and metrics", () => entry.memory.buffer.byteLength);
  }

  private static started: Promise<Readers> | undefined;

  /** The same readers for every caller. */
  static start(): Promise<Readers> {
    Readers.started ??= instantiate("metrics").then(
      (exports) => new Readers(exports as unknown as Entry),
    );
    return Readers.started;
  }

  private put(bytes: Uint8Array): void {
    countInput();
    new Uint8Array(this.entry.memory.buffer, this.entry.inputAddress()).set(bytes);
  }

  private feed(
    bytes: Uint8Array,
    cuts: readonly number[],
    feed: (offset: number, len: number) => void,
  ): void {
    this.put(bytes);
    let from = 0;
    for (const cut of [...cuts, bytes.length]) {
      feed(from, cut - from);
      from = cut;
    }
  }

  metrics(bytes: Uint8Array, cuts: readonly number[] = [], nowMs: number | "own" = "own"): Metrics {
    const entry = this.entry;
    entry.metricsBegin(nowMs !== "own", nowMs === "own" ? 1_790_000_300_000 : nowMs);
    this.feed(bytes, cuts, entry.metricsFeed);
    const ok = entry.metricsFinish() !== 0;
    const reports: Report[] = [];
    for (let i = 0; i < entry.metricsCount(); i++) {
      const report: Report = { host: entry.reportAt(i) };
      FIELDS.forEach((field, index) => {
        const value = entry.reportField(index);
        if (!Number.isNaN(value)) report[field] = value;
      });
      reports.push(report);
    }
    return { ok, matched: entry.metricsMatched(), malformed: entry.metricsMalformed(), reports };
  }

  /** What the first report of the last answer says of a name. */
  model(name: string): "model" | "loaded" | "waiting" | "unknown" {
    this.entry.reportAt(0);
    const bytes = encode(name);
    this.put(bytes);
    const said = this.entry.reportModel(0, bytes.length);
    return (["unknown", "waiting", "loaded", "model"] as const)[said] ?? "unknown";
  }

  number(text: string): number | undefined {
    const bytes = encode(text);
    this.put(bytes);
    const value = this.entry.number(bytes.length);
    return this.entry.numberIsOk() === 0 ? undefined : value;
  }

  orca(value: Uint8Array): number[] | undefined {
    this.put(value);
    const known = this.entry.orcaRead(value.length) !== 0;
    return known ? [0, 1, 2, 3].map((field) => this.entry.orcaField(field)) : undefined;
  }

  /** `undefined` if the answer was not whole or lacked the cluster. */
  clusters(
    bytes: Uint8Array,
    cuts: readonly number[] = [],
    target: "llm" | "degraded" | "absent" = "llm",
  ): ClusterHost[] | undefined {
    const entry = this.entry;
    entry.clustersBegin(["llm", "degraded", "absent"].indexOf(target));
    this.feed(bytes, cuts, entry.clustersFeed);
    if (entry.clustersFinish() === 0) return undefined;
    return Array.from({ length: entry.clustersCount() }, (_, i) => {
      const at = entry.clusterAddress(i);
      const address = new Uint8Array(entry.memory.buffer, at, entry.clusterAddressLength(i));
      const bits = entry.clusterHost(i);
      return {
        address: new TextDecoder().decode(address),
        usable: (bits & 1) !== 0,
        degraded: (bits & 2) !== 0,
        requests: bits >> 2,
      };
    });
  }

  usage(bytes: Uint8Array, cuts: readonly number[] = [], isEventStream = true): Usage {
    const entry = this.entry;
    entry.usageBegin(isEventStream);
    this.feed(bytes, cuts, entry.usageFeed);
    entry.usageFinish();
    return {
      prompt: entry.usageField(0),
      completion: entry.usageField(1),
      cached: entry.usageField(2),
      events: entry.usageField(3),
      done: entry.usageField(4) !== 0,
      id: BigInt.asUintN(64, entry.usageId()),
    };
  }

  hash(text: string): bigint {
    const bytes = encode(text);
    this.put(bytes);
    return BigInt.asUintN(64, this.entry.hash(0, bytes.length));
  }
}
