import { Text } from "../../bytes";
import { DiscoverySource } from "../../config/config";
import { ClustersReader } from "../../discovery/admin";
import { BufferType, getPiece } from "../../host/buffers";
import { wallMs } from "../../host/clock";
import { outLen, outPtr } from "../../host/memory";
import { presetNames } from "../../metrics/engines";
import { MetricNameTable } from "../../metrics/names";
import { MetricsReader } from "../../metrics/report";
import { MAX_HOSTS } from "../../state/layout";
import { Discovered } from "./discovered";
import { Past } from "./past";
import { DirectoryMatcher, Reports } from "./reports";
import { Core } from "../core";

/** Reads what polls brought into the shared tables. Each says whether there was anything usable. */
export class Polled {
  private names: MetricNameTable = presetNames();
  /** Of hosts' own pages, and of an endpoint's answers (1 MB): made when the first of them comes, in the VM that polls. */
  private pageReader: MetricsReader | null = null;
  endpointReader: MetricsReader | null = null;
  readonly clusters: ClustersReader = new ClustersReader();
  private matcher: DirectoryMatcher;
  private discovered: Discovered;
  private past: Past;

  constructor(
    private core: Core,
    private reports: Reports,
  ) {
    const fleet = core.fleet;
    const config = core.config;
    const matcher = new DirectoryMatcher(fleet.hosts);
    matcher.enters = config.hosts.length == 0 && config.discovery.source == DiscoverySource.None;
    this.matcher = matcher;
    this.discovered = new Discovered(fleet.hosts);
    this.past = new Past(core);
    this.names.replaceAll(config.metrics.names.bySignal);
  }

  /** A host's own page. */
  readPage(slot: i32, size: i32, nowMs: f64): bool {
    let reader = this.pageReader;
    if (!reader) {
      reader = new MetricsReader(this.names);
      this.pageReader = reader;
    }
    reader.begin(nowMs);
    feed(reader, size);
    if (!reader.finish()) return false;
    if (this.core.fleet.hosts.isKnown(slot)) {
      this.reports.scraped(slot, reader.report(0), true, nowMs, nowMs);
    }
    return true;
  }

  /** A page about all hosts; what it said before it broke off counts. */
  readEndpoint(size: i32, nowMs: f64): bool {
    const matcher = this.matcher;
    let reader = this.endpointReader;
    if (!reader) {
      const label = this.core.config.metrics.hostLabel;
      reader = new MetricsReader(this.names, matcher, label, MAX_HOSTS);
      this.endpointReader = reader;
    }
    matcher.nowMs = nowMs;
    const dateMs = wallMs();
    reader.begin(dateMs);
    feed(reader, size);
    const good = reader.finish();
    matcher.isGpuAlone = !reader.sawEngine;
    for (let i = 0; i < reader.count; i++) {
      const report = reader.report(i);
      const ageMs = isNaN(report.timestampMs) ? 0 : dateMs - report.timestampMs;
      this.reports.scraped(reader.host(i), report, false, nowMs - ageMs, nowMs);
    }
    return good;
  }

  /** The admin interface's list of clusters. */
  readClusters(size: i32, nowMs: f64): bool {
    const config = this.core.config;
    if (!this.readCluster(config.discovery.targetCluster, size)) return false;
    this.discovered.take(this.clusters, nowMs);
    this.past.take(this.clusters, nowMs);
    const peers = config.peers;
    if (peers.cluster.len == 0 || peers.hosts.length > 0) return true;
    // Of the gateways' own cluster nothing may be there yet.
    if (this.readCluster(peers.cluster, size)) {
      this.core.fleet.openPeers().members.take(this.clusters);
    }
    return true;
  }

  private readCluster(name: Text, size: i32): bool {
    const reader = this.clusters;
    reader.begin(name);
    let read = 0;
    while (getPiece(BufferType.CallResponseBody, read, size)) {
      read += outLen;
      reader.feed(outPtr, outLen);
    }
    return reader.finish();
  }
}

function feed(reader: MetricsReader, size: i32): void {
  let read = 0;
  while (getPiece(BufferType.CallResponseBody, read, size)) {
    read += outLen;
    reader.feed(outPtr, outLen);
  }
}
