import { ClustersReader } from "../../discovery/admin";
import { HostDirectory, Source } from "../../state/hosts";
import { MAX_HOSTS } from "../../state/layout";

/** Makes the host directory say what Envoy's admin interface says. Its word on health wins. */
export class Discovered {
  private named: StaticArray<u8> = new StaticArray<u8>(MAX_HOSTS);

  constructor(private hosts: HostDirectory) {}

  /** Takes a whole, good answer over: hosts that it doesn't name are no longer members of the cluster, whoever else names them. */
  take(reader: ClustersReader, nowMs: f64): void {
    const hosts = this.hosts;
    memory.fill(changetype<usize>(this.named), 0, MAX_HOSTS);
    for (let i = 0; i < reader.count; i++) {
      const slot = hosts.add(reader.addressPtr(i), reader.addressLen(i), Source.Discovery, nowMs);
      if (slot < 0) continue;
      this.named[slot] = 1;
      hosts.setUnhealthy(slot, !reader.usable(i));
    }
    // An answer that was cut short tells nothing of the hosts it leaves out.
    if (reader.left > 0) return;
    for (let slot = 0; slot < hosts.count; slot++) {
      if (!hosts.isKnown(slot) || this.named[slot]) continue;
      hosts.remove(slot, Source.Discovery);
      hosts.remove(slot, Source.Answers);
      // A configured host that the cluster doesn't have can't be reached: Envoy's override would skip it.
      if (hosts.isKnown(slot)) hosts.setUnhealthy(slot, true);
    }
  }
}
