import { ClustersReader } from "../../discovery/admin";
import { HostDirectory, Source } from "../../state/hosts";
import { MAX_HOSTS } from "../../state/layout";

/** Ranks of hosts that the answer doesn't name, and of those that it says can't be used. */
const UNNAMED: i32 = i32.MAX_VALUE;
const UNUSABLE: i32 = i32.MAX_VALUE - 1;

/** Makes the host directory say what Envoy's admin interface says. Its word on health wins. */
export class Discovered {
  /** By slot: the best rank at which the answer names the host. */
  private ranks: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);

  constructor(private hosts: HostDirectory) {}

  /** Takes a whole, good answer over: hosts that it doesn't name are no longer members of the cluster, whoever else names them. */
  take(reader: ClustersReader, nowMs: f64): void {
    const hosts = this.hosts;
    const ranks = this.ranks;
    let best = UNUSABLE;
    ranks.fill(UNNAMED);
    for (let i = 0; i < reader.count; i++) {
      const slot = hosts.add(reader.addressPtr(i), reader.addressLen(i), Source.Discovery, nowMs);
      if (slot < 0) continue;
      // A host may be there in several priorities.
      const rank = min(ranks[slot], reader.usable(i) ? reader.rank(i) : UNUSABLE);
      ranks[slot] = rank;
      best = min(best, rank);
    }
    // An answer that was cut short tells nothing of the hosts it leaves out.
    const isWhole = reader.left == 0;
    for (let slot = 0; slot < hosts.count; slot++) {
      if (!hosts.isKnown(slot)) continue;
      const rank = ranks[slot];
      if (rank != UNNAMED) {
        hosts.setHealth(slot, rank == UNUSABLE, rank > best && rank < UNUSABLE);
      } else if (isWhole) {
        hosts.remove(slot, Source.Discovery);
        hosts.remove(slot, Source.Answers);
        // A configured host that the cluster doesn't have can't be reached: Envoy's override would skip it.
        if (hosts.isKnown(slot)) hosts.setHealth(slot, true, false);
      }
    }
  }
}
