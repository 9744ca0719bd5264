import { Text, text } from "../../bytes";
import { DiscoverySource, MetricsSource } from "../../config/config";
import { HeaderList, httpCall } from "../../host/calls";
import { HeaderMap, getHeader } from "../../host/headers";
import { logWarn } from "../../host/log";
import { outLen, outPtr } from "../../host/memory";
import { MAX_HOSTS } from "../../state/layout";
import { Forget } from "../fleet/forget";
import { Gauges } from "../fleet/gauges";
import { badClusters, badEndpoint, badPage, compressed, noAnswer } from "./pollfault";
import { Polled } from "./polled";
import { Core } from "../core";
import { Peering } from "../peers/peering";
import { Reports } from "./reports";
import { Schedule } from "./schedule";

const METHOD = text(":method");
const GET = text("GET");
const PATH = text(":path");
const AUTHORITY = text(":authority");
const STATUS = text(":status");
const OK = text("200");
const ACCEPT = text("accept");
const ACCEPT_ENCODING = text("accept-encoding");
const IDENTITY = text("identity");
const CONTENT_ENCODING = text("content-encoding");
const LOCATION = text("location");
const METRICS_TYPES = text("text/plain, application/json;q=0.9, */*;q=0.1");

/** What a call was for: a host's slot, or one of these. */
const FOR_ENDPOINT: i32 = MAX_HOSTS;
const FOR_DISCOVERY: i32 = MAX_HOSTS + 1;
const TARGETS: i32 = MAX_HOSTS + 2;

/** An answer that is out longer than its time-out by this is not waited for, ms. */
const LOST_MS: f64 = 5000;
/** Time between scrapes while other gateways are missing, ms. */
const MISSING_SCRAPE_MS: f64 = 100;
/** After so many failures in a row of one target a warning is logged, once. */
const WARN_AFTER: i32 = 3;

/** Polls metrics and discovery while this VM holds the lease. An answer that comes after the lease was lost still counts. */
export class Poller {
  /** Token of the call under way per target, 0 for none. */
  private tokens: StaticArray<u32> = new StaticArray<u32>(TARGETS);
  private sentMs: StaticArray<f64> = new StaticArray<f64>(TARGETS);
  private schedule: Schedule = new Schedule(TARGETS);
  private headers: HeaderList = new HeaderList(8, 4096);
  private polled: Polled;
  private gauges: Gauges;
  private forget: Forget;
  private refusalTold: bool = false;
  private pageTold: bool = false;
  private endpointTold: bool = false;
  private discoveryTold: bool = false;

  constructor(
    private core: Core,
    private peering: Peering,
    reports: Reports,
  ) {
    this.polled = new Polled(core, reports);
    this.gauges = new Gauges(core, peering);
    this.forget = new Forget(core.fleet);
  }

  /** Sends what is due; publishes gauges. */
  tick(nowMs: f64, leads: bool): void {
    if (!leads) return;
    const config = this.core.config;
    const metrics = config.metrics;
    const hosts = this.core.fleet.hosts;
    if (config.discovery.source == DiscoverySource.EnvoyAdmin) {
      const intervalMs = <f64>config.discovery.intervalMs;
      if (this.isDue(FOR_DISCOVERY, nowMs, intervalMs, config.discovery.timeoutMs)) {
        this.callDiscovery(nowMs);
      }
    }
    if (metrics.source == MetricsSource.Endpoint) {
      if (this.isDue(FOR_ENDPOINT, nowMs, <f64>metrics.intervalMs, metrics.timeoutMs)) {
        this.callMetrics(FOR_ENDPOINT, nowMs);
      }
    } else if (metrics.source == MetricsSource.Hosts) {
      for (let slot = 0; slot < hosts.count; slot++) {
        if (!hosts.isKnown(slot)) continue;
        if (this.isDue(slot, nowMs, this.scrapeMs, metrics.timeoutMs)) {
          this.callMetrics(slot, nowMs);
        }
      }
    }
    this.forget.tick(nowMs);
    this.gauges.publish(nowMs);
  }

  private isDue(target: i32, nowMs: f64, intervalMs: f64, timeoutMs: u32): bool {
    const isOut = unchecked(this.tokens[target]) != 0;
    const outMs = nowMs - unchecked(this.sentMs[target]);
    if (isOut && outMs >= 0 && outMs < <f64>timeoutMs + LOST_MS) return false;
    return this.schedule.isDue(target, nowMs, intervalMs);
  }

  /** An answer, or the failure, of a call of this core. */
  answered(token: u32, headerCount: i32, bodySize: i32, nowMs: f64): void {
    let target = 0;
    while (target < TARGETS && unchecked(this.tokens[target]) != token) target++;
    if (target >= TARGETS) return;
    unchecked((this.tokens[target] = 0));
    const answers = headerCount > 0 && getHeader(HeaderMap.CallResponse, STATUS);
    const good = answers && isOk();
    const encoding = good ? headerText(CONTENT_ENCODING) : "";
    const status = answers && !good ? statusText() : "";
    const read =
      good &&
      (encoding == "" || encoding == "identity") &&
      (target == FOR_DISCOVERY
        ? this.polled.readClusters(bodySize, nowMs)
        : target == FOR_ENDPOINT
          ? this.polled.readEndpoint(bodySize, nowMs)
          : this.polled.readPage(target, bodySize, nowMs));
    if (read) {
      this.schedule.succeeded(target);
    } else {
      this.failed(target, good, good ? encoding : status, nowMs);
    }
  }

  /** Time between scrapes of one host, ms: shorter while gateways are missing whose requests only servers' reports show. */
  private get scrapeMs(): f64 {
    const ms = <f64>this.core.config.metrics.intervalMs;
    return this.peering.missing > 0 ? Math.min(ms, MISSING_SCRAPE_MS) : ms;
  }

  private callMetrics(target: i32, nowMs: f64): void {
    const metrics = this.core.config.metrics;
    const hosts = this.core.fleet.hosts;
    const headers = this.headers;
    headers.reset();
    headers.addText(METHOD, GET);
    headers.addText(PATH, metrics.path);
    if (target < MAX_HOSTS) {
      const ptr = hosts.addressPtr(target);
      headers.add(AUTHORITY, ptr, hosts.addressLen(target));
      headers.add(this.core.config.routing.header, ptr, hosts.addressLen(target));
    } else {
      headers.addText(AUTHORITY, metrics.cluster);
    }
    headers.addText(ACCEPT, METRICS_TYPES);
    // Without it a server may send what only few can read.
    headers.addText(ACCEPT_ENCODING, IDENTITY);
    this.core.stats.scrapes.add(1);
    this.sent(
      target,
      httpCall(metrics.cluster, headers, 0, 0, metrics.timeoutMs),
      nowMs,
      "metrics",
    );
  }

  private callDiscovery(nowMs: f64): void {
    const discovery = this.core.config.discovery;
    const headers = this.headers;
    headers.reset();
    headers.addText(METHOD, GET);
    headers.addText(PATH, discovery.path);
    headers.addText(AUTHORITY, discovery.cluster);
    this.core.stats.discoveryPolls.add(1);
    const token = httpCall(discovery.cluster, headers, 0, 0, discovery.timeoutMs);
    this.sent(FOR_DISCOVERY, token, nowMs, "discovery");
  }

  private sent(target: i32, token: u32, nowMs: f64, section: string): void {
    unchecked((this.tokens[target] = token));
    unchecked((this.sentMs[target] = nowMs));
    if (token != 0) return;
    const status = outLen;
    this.countFailure(target, nowMs);
    if (this.refusalTold) return;
    // Once: the statistic goes on counting.
    this.refusalTold = true;
    const config = this.core.config;
    const cluster = section == "metrics" ? config.metrics.cluster : config.discovery.cluster;
    logWarn(
      `warmroute: ${section}.cluster: Envoy refused a call to ${cluster.toString()} (status ${status}); ` +
        `expected the name of a cluster in its configuration`,
    );
  }

  /**
   * A poll brought nothing usable: told once for each kind, when that has happened a few times in a row.
   * @param good an answer came, but nothing in it could be used
   * @param detail its encoding, if it had one; of another than 200 the status
   */
  private failed(target: i32, good: bool, detail: string, nowMs: f64): void {
    this.countFailure(target, nowMs);
    if (this.schedule.failuresOf(target) < WARN_AFTER || this.isTold(target)) return;
    const config = this.core.config;
    let why: string;
    if (target == FOR_DISCOVERY) {
      const d = config.discovery;
      why = good
        ? badClusters(this.polled.clusters, config)
        : noAnswer("discovery", d.cluster.toString(), d.path.toString(), detail);
      this.discoveryTold = true;
    } else {
      const m = config.metrics;
      const endpoint = this.polled.endpointReader;
      const isEndpoint = target == FOR_ENDPOINT;
      why = !good
        ? noAnswer("metrics", this.asked(target), m.path.toString(), detail)
        : detail != ""
          ? compressed("metrics", this.asked(target), m.path.toString(), detail)
          : isEndpoint && endpoint
            ? badEndpoint(endpoint, config)
            : badPage(config);
      if (isEndpoint) this.endpointTold = true;
      else this.pageTold = true;
    }
    logWarn(`warmroute: ${why}. Further failures are counted, not logged.`);
  }

  private countFailure(target: i32, nowMs: f64): void {
    this.schedule.failed(target, nowMs);
    const stats = this.core.stats;
    stats.scrapeFailures.add(1);
    if (target == FOR_DISCOVERY) stats.discoveryFailures.add(1);
  }

  private isTold(target: i32): bool {
    if (target == FOR_DISCOVERY) return this.discoveryTold;
    return target == FOR_ENDPOINT ? this.endpointTold : this.pageTold;
  }

  /** The cluster that was asked, and which of its hosts. */
  private asked(target: i32): string {
    const cluster = this.core.config.metrics.cluster.toString();
    if (target >= MAX_HOSTS) return cluster;
    return `${cluster}, host ${this.core.addressOf(target)}`;
  }
}

function isOk(): bool {
  return outLen == OK.len && memory.compare(outPtr, OK.ptr, OK.len) == 0;
}

/** A header of the answer, empty if it isn't there. */
function headerText(name: Text): string {
  return getHeader(HeaderMap.CallResponse, name) ? String.UTF8.decodeUnsafe(outPtr, outLen) : "";
}

/** The status of an answer, and where a redirect leads. */
function statusText(): string {
  const status = headerText(STATUS);
  const location = status.startsWith("3") ? headerText(LOCATION) : "";
  return location != "" ? `${status}, to ${location}` : status;
}
