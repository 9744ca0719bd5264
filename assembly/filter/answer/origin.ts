import { equalsText } from "../../bytes";
import { Address, parseAddress } from "../../config/address";
import { DiscoverySource } from "../../config/config";
import { nowMs } from "../../host/clock";
import { logWarn } from "../../host/log";
import { outLen, outPtr } from "../../host/memory";
import { getProperty, path } from "../../host/properties";
import { hashBytes } from "../../prefix/hash";
import { Source } from "../../state/hosts";
import { Core } from "../core";

const UPSTREAM_ADDRESS = path("upstream", "address");
const CLUSTER_NAME = path("xds", "cluster_name");

/** Answered by nobody that is known, nor can be: Envoy itself, a pipe. */
export const NOBODY: i32 = -1;
/** Answered by a server of another cluster than the one whose servers are chosen from. */
export const ELSEWHERE: i32 = -2;

/**
 * Whose answer it is. A server that nothing has named becomes known by answering, if it belongs to the cluster of those that are:
 * routes of one listener may lead to several, and a choice among servers of another has no effect.
 */
export class Origin {
  private address: Address = new Address();
  /** Hash of the cluster's name in which a server that something names has answered; 0 for none yet. */
  private clusterHash: u64 = 0;
  private isTold: bool = false;

  constructor(private core: Core) {}

  /** Slot of the server that answered, `NOBODY` or `ELSEWHERE`. */
  find(): i32 {
    if (!getProperty(UPSTREAM_ADDRESS) || outLen == 0) return NOBODY;
    const hosts = this.core.fleet.hosts;
    const slot = hosts.find(outPtr, outLen);
    if (slot >= 0) {
      if (this.clusterHash == 0 && hosts.isNamed(slot)) this.meet();
      return slot;
    }
    // Others (a pipe, an internal listener) are nothing that Envoy's override could find.
    const address = this.address;
    if (!parseAddress(outPtr, outLen, address)) return NOBODY;
    if (!this.isOurs()) return ELSEWHERE;
    return hosts.add(address.ptr, address.len, Source.Answers, nowMs());
  }

  /** Notes in which cluster a named server has answered. */
  private meet(): void {
    if (getProperty(CLUSTER_NAME) && outLen > 0) this.clusterHash = hashBytes(outPtr, outLen);
  }

  /** Whether the cluster that answered is the one whose servers are chosen from. */
  private isOurs(): bool {
    if (!getProperty(CLUSTER_NAME) || outLen == 0) return true;
    const config = this.core.config;
    const discovery = config.discovery;
    let isOurs: bool;
    if (discovery.source == DiscoverySource.EnvoyAdmin) {
      isOurs = equalsText(outPtr, outLen, discovery.targetCluster);
    } else if (this.clusterHash != 0) {
      isOurs = hashBytes(outPtr, outLen) == this.clusterHash;
    } else {
      // None of those that are named has answered yet; perhaps none is a member of any cluster.
      isOurs =
        !this.core.fleet.hosts.areNamed ||
        equalsText(outPtr, outLen, config.metrics.cluster) ||
        equalsText(outPtr, outLen, discovery.targetCluster);
    }
    if (!isOurs && !this.isTold) {
      this.isTold = true;
      logWarn(
        `warmroute: inference requests are answered by cluster ${String.UTF8.decodeUnsafe(outPtr, outLen)} too, whose servers aren't among those that are ` +
          `chosen from: there Envoy chooses. Expected one cluster behind the filter; switch it off on other routes with typed_per_filter_config`,
      );
    }
    return isOurs;
  }
}
