import { Gauge } from "../../host/stats";
import { MAX_HOSTS } from "../../state/layout";
import { Core } from "../core";
import { Peering } from "../peers/peering";

/** Publishes per-host gauges; run by the one VM that holds the lease. */
export class Gauges {
  private inFlight: StaticArray<Gauge | null> = new StaticArray<Gauge | null>(MAX_HOSTS);
  private generation: StaticArray<u8> = new StaticArray<u8>(MAX_HOSTS);

  constructor(
    private core: Core,
    private peering: Peering,
  ) {}

  publish(nowMs: f64): void {
    const fleet = this.core.fleet;
    const hosts = fleet.hosts;
    let stale: u64 = 0;
    for (let slot = 0; slot < hosts.count; slot++) {
      const known = hosts.isKnown(slot);
      let gauge = this.inFlight[slot];
      if (gauge && (!known || this.generation[slot] != hosts.generation(slot))) {
        gauge.set(0);
        gauge = null;
        this.inFlight[slot] = null;
      }
      if (!known) continue;
      if (!gauge) {
        const address = String.UTF8.decodeUnsafe(hosts.addressPtr(slot), hosts.addressLen(slot));
        gauge = Gauge.define("warmroute.in_flight.host." + address);
        this.inFlight[slot] = gauge;
        this.generation[slot] = hosts.generation(slot);
      }
      gauge.set(<u64>(fleet.inFlight.waiting(slot) + fleet.inFlight.decoding(slot)));
      if (this.core.decider.view.isStale(fleet.states.at(slot), nowMs)) stale++;
    }
    this.core.stats.staleHosts.set(stale);
    // Workers count up and down; what the VM of one that trapped held is counted down by nobody.
    this.core.stats.queueLength.set(<u64>max(fleet.inFlight.held(), 0));
    this.core.stats.peers.set(<u64>this.peering.others);
    this.core.stats.peersHeard.set(<u64>fleet.peerLoads.heard);
    this.core.stats.peersOldest.set(<u64>Math.max(fleet.peerLoads.oldestMs, 0));
  }
}
