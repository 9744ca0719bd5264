import { Signal } from "../../../assembly/config/signals";
/** Test entry: the readers of metrics, load reports, clusters and usage over bytes of the caller's. */
import { UsageReader } from "../../../assembly/body/usage";
import { Text, text } from "../../../assembly/bytes";
import { ClustersReader } from "../../../assembly/discovery/admin";
import { HostMatcher, isAtIp } from "../../../assembly/metrics/matcher";
import { presetNames } from "../../../assembly/metrics/engines";
import { numberOk, parseNumber } from "../../../assembly/number";
import { OrcaReader } from "../../../assembly/metrics/orca";
import { HostReport, MetricsReader } from "../../../assembly/metrics/report";
import { hashBytes } from "../../../assembly/prefix/hash";

const CAPACITY: usize = 1 << 22;
const input = heap.alloc(CAPACITY);

export function inputAddress(): usize {
  return input;
}

/** The hosts of the endpoint's answers: `10.0.0.11:8000` … `10.0.0.13:8001`. */
class Known extends HostMatcher {
  private addresses: Array<Text> = [
    text("10.0.0.11:8000"),
    text("10.0.0.12:8000"),
    text("10.0.0.13:8000"),
    text("10.0.0.13:8001"),
    text("[fd00::1]:8000"),
  ];

  find(ptr: usize, len: i32, signal: Signal): i32 {
    let found = -1;
    for (let i = 0; i < this.addresses.length; i++) {
      const known = this.addresses[i];
      if (known.len == len && memory.compare(known.ptr, ptr, len) == 0) return i;
    }
    for (let i = 0; i < this.addresses.length; i++) {
      const known = this.addresses[i];
      if (!isAtIp(known.ptr, known.len, ptr, len)) continue;
      if (found >= 0) return -1;
      found = i;
    }
    return found;
  }
}

const names = presetNames();
const own = new MetricsReader(names);
const endpoint = new MetricsReader(names, new Known(), text("instance"), 64);
let metrics: MetricsReader = own;
let report: HostReport = own.report(0);

export function metricsBegin(isEndpoint: bool, nowMs: f64): void {
  metrics = isEndpoint ? endpoint : own;
  metrics.begin(nowMs);
}

export function metricsFeed(offset: i32, len: i32): void {
  metrics.feed(input + offset, len);
}

export function metricsFinish(): bool {
  return metrics.finish();
}

export function metricsCount(): i32 {
  return metrics.count;
}

export function metricsMalformed(): i32 {
  return metrics.malformed;
}

export function metricsMatched(): i32 {
  return metrics.matched;
}

/** Selects the report of host i; returns the matcher's number of it. */
export function reportAt(i: i32): i32 {
  report = metrics.report(i);
  return metrics.host(i);
}

/** Field of the selected report, in the order of its declaration. */
export function reportField(field: i32): f64 {
  switch (field) {
    case 0:
      return report.running;
    case 1:
      return report.waiting;
    case 2:
      return report.kvUsage;
    case 3:
      return report.gpuUtilization;
    case 4:
      return report.prefixHits;
    case 5:
      return report.prefixQueries;
    case 6:
      return report.promptTokens;
    case 7:
      return report.generationTokens;
    case 8:
      return report.iterationTokens;
    case 9:
      return report.capacityTokens;
    case 10:
      return report.startTimeS;
    default:
      return report.timestampMs;
  }
}

/** What the selected report says of the name in the input: 0 nothing, 1 waits, 2 loaded, 3 a model. */
export function reportModel(offset: i32, len: i32): i32 {
  const hash = hashBytes(input + offset, len);
  for (let i = 0; i < report.modelCount; i++) {
    if (report.modelHash(i) != hash) continue;
    if (!report.isAdapter(i)) return 3;
    return report.modelLoaded(i) ? 2 : 1;
  }
  return 0;
}

export function number(len: i32): f64 {
  return parseNumber(input, len);
}

export function numberIsOk(): bool {
  return numberOk;
}

const orca = new OrcaReader();

export function orcaRead(len: i32): bool {
  return orca.read(input, len);
}

export function orcaField(field: i32): f64 {
  if (field == 0) return orca.running;
  if (field == 1) return orca.waiting;
  return field == 2 ? orca.kvUsage : orca.gpuUtilization;
}

const clusters = new ClustersReader();
const llm = text("llm");
const degraded = text("degraded");
const absent = text("absent");

export function clustersBegin(target: i32): void {
  clusters.begin(target == 0 ? llm : target == 1 ? degraded : absent);
}

export function clustersFeed(offset: i32, len: i32): void {
  clusters.feed(input + offset, len);
}

export function clustersFinish(): bool {
  return clusters.finish();
}

export function clustersCount(): i32 {
  return clusters.count;
}

export function clusterAddress(i: i32): usize {
  return clusters.addressPtr(i);
}

export function clusterAddressLength(i: i32): i32 {
  return clusters.addressLen(i);
}

/** Bits: 1 usable, 2 degraded; the requests handed there above them. */
export function clusterHost(i: i32): i32 {
  const health = (clusters.usable(i) ? 1 : 0) | (clusters.rank(i) > 0 ? 2 : 0);
  return (<i32>clusters.requests(i) << 2) | health;
}

const usage = new UsageReader();

export function usageBegin(isEventStream: bool): void {
  usage.begin(isEventStream);
}

export function usageFeed(offset: i32, len: i32): void {
  usage.feed(input + offset, len);
}

export function usageFinish(): void {
  usage.finish();
}

/** 0 prompt, 1 completion, 2 cached tokens, 3 events with text, 4 done. */
export function usageField(field: i32): f64 {
  if (field == 0) return <f64>usage.promptTokens;
  if (field == 1) return <f64>usage.completionTokens;
  if (field == 2) return <f64>usage.cachedTokens;
  return field == 3 ? <f64>usage.outputEvents : usage.sawDone ? 1 : 0;
}

export function usageId(): u64 {
  return usage.idHash;
}

export function hash(offset: i32, len: i32): u64 {
  return hashBytes(input + offset, len);
}
