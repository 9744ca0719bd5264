import { equalsText } from "../../bytes";
import { MetricsSource } from "../../config/config";
import { ClustersReader } from "../../discovery/admin";
import { Outsiders } from "../../discovery/outsiders";
import { logWarn } from "../../host/log";
import { Core } from "../core";

/**
 * Notices requests that reach the servers on a way past the filter. Their load is seen only in servers' reports, and where that
 * way's routes don't strip the routing header, whoever sends them chooses the server.
 */
export class Past {
  private outsiders: Outsiders = new Outsiders();
  private isTold: bool = false;

  constructor(private core: Core) {}

  /** Takes a whole answer of the admin interface. */
  take(reader: ClustersReader, nowMs: f64): void {
    const core = this.core;
    const config = core.config;
    const stats = core.stats;
    let handed: i64 = 0;
    for (let i = 0; i < reader.count; i++) handed += reader.requests(i);
    let own = <i64>stats.tries.get();
    const target = config.discovery.targetCluster;
    const asks = config.metrics.source != MetricsSource.None;
    if (asks && equalsText(target.ptr, target.len, config.metrics.cluster)) {
      own += <i64>stats.scrapes.get();
    }
    const outsiders = this.outsiders;
    const more = outsiders.note(nowMs, handed, reader.count, own);
    if (more == 0) return;
    stats.outsideRequests.add(more);
    if (this.isTold) return;
    this.isTold = true;
    const header = config.routing.header.toString();
    logWarn(
      `warmroute: ${outsiders.past} of the last ${outsiders.all} requests to cluster ${target.toString()} came past this filter; expected all ` +
        `to come through it. Nobody strips ${header} from them, unless their routes do, so whoever sends them may choose the server, and ` +
        `their load shows in servers' reports only: give that listener the filter, or its routes request_headers_to_remove: [${header}].`,
    );
  }
}
