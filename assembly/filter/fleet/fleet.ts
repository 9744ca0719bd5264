import { Account } from "../../state/account";
import { HostDirectory } from "../../state/hosts";
import { HostStates } from "../../state/hoststates";
import { InFlight } from "../../state/inflight";
import { Workers } from "../../state/workers";
import { Journal } from "../../state/journal";
import { Keys } from "../../state/keys";
import { Learned } from "../../state/learned";
import { Lease } from "../../state/lease";
import { Locations } from "../../state/locations";
import { PeerLoads } from "../../state/peerloads";
import { Responses } from "../../state/responses";
import { WorkerRow } from "../../state/row";
import { NamedTenants } from "../../state/tenants";
import { Stats } from "../../stats/stats";
import { PeerTables } from "../peers/peertables";
import { Speeds } from "./speeds";
import { StoredAnswers } from "./storedanswers";

/**
 * This VM's view of one namespace: the tables that all workers share, with the local copies that make reading them cheap.
 * Filters with the same root id share a namespace.
 */
export class Fleet {
  readonly hosts: HostDirectory;
  readonly states: HostStates;
  readonly row: WorkerRow;
  readonly speeds: Speeds;
  readonly inFlight: InFlight;
  readonly account: Account;
  readonly locations: Locations;
  private journal: Journal;
  readonly storedAnswers: StoredAnswers;
  readonly learned: Learned;
  /** Tenants with statistics of their own. */
  readonly tenants: NamedTenants;
  /** Held by the one VM that polls and publishes gauges. */
  readonly lease: Lease;
  /** What other gateways have in flight. */
  readonly peerLoads: PeerLoads;
  private peers: PeerTables | null = null;
  /** Whose capacities `locations` goes by (caches.ts). */
  clocksBy: u32 = 0;
  /** Roots of this VM that route by it: more than one while an old listener drains. */
  private roots: i32 = 0;
  /** Entries of its location table that statistics hold. */
  private counted: i64 = 0;

  /**
   * @param namespace the plugin's root id
   * @param tableBytes bound of the location table
   * @param instance random number of this VM
   */
  constructor(
    readonly namespace: string,
    tableBytes: i32,
    instance: u64,
  ) {
    const keys = new Keys(namespace);
    const hosts = new HostDirectory(keys);
    const row = new WorkerRow(keys, instance);
    this.hosts = hosts;
    this.row = row;
    const states = new HostStates(keys, hosts);
    this.states = states;
    const peerLoads = new PeerLoads(keys, hosts);
    this.speeds = new Speeds(hosts, states, peerLoads);
    this.peerLoads = peerLoads;
    this.inFlight = new InFlight(new Workers(keys, row), hosts, row, peerLoads);
    this.account = new Account(hosts, row);
    const journal = new Journal(keys, row);
    this.journal = journal;
    const locations = new Locations(hosts, journal, tableBytes);
    this.locations = locations;
    this.storedAnswers = new StoredAnswers(hosts, new Responses(keys), locations);
    this.learned = new Learned(keys);
    this.tenants = new NamedTenants(keys);
    this.lease = new Lease(keys, "lease", instance);
  }

  /** A root routes by it from now on. */
  enter(stats: Stats): void {
    if (this.roots++ == 0 && this.counted != 0) stats.tableEntries.add(this.counted);
  }

  /** A root of those has ended. With the last one the table, which is the VM's own, is of no more use. */
  leave(stats: Stats): void {
    if (--this.roots == 0 && this.counted != 0) stats.tableEntries.add(-this.counted);
  }

  /** Adds what its location table counted, by whichever root, to the statistics. */
  count(stats: Stats): void {
    const locations = this.locations;
    const filled = locations.filled;
    const evicted = locations.evicted;
    if (filled != 0) stats.tableEntries.add(filled);
    if (evicted != 0) stats.tableEvictions.add(evicted);
    this.counted += filled;
    locations.filled = 0;
    locations.evicted = 0;
  }

  /** Takes over what other workers have in flight, and where they sent it: before each decision. */
  look(nowMs: f64): void {
    this.inFlight.refreshSome(nowMs);
    this.peerLoads.refresh(nowMs);
    this.journal.read(this.inFlight.workers, this.locations);
  }

  /** Lets other workers see what was noted in the location table, with the next writing of this one's row. */
  publishLocations(nowMs: f64): void {
    this.journal.publish(nowMs);
  }

  /** Tables of the exchange with other gateways, made at first use. */
  openPeers(): PeerTables {
    let peers = this.peers;
    if (!peers) {
      peers = new PeerTables(new Keys(this.namespace), this.hosts, this.locations);
      this.peers = peers;
    }
    return peers;
  }

  /** Brings the local copies up to date: at ticks, and when a configuration was taken. */
  refresh(nowMs: f64): void {
    this.hosts.refresh();
    this.states.refresh();
    this.speeds.refresh(nowMs);
    this.journal.tell(nowMs);
    this.row.heartbeat(nowMs);
    this.peerLoads.refreshAll(nowMs);
    this.inFlight.refreshAll(nowMs);
    // A worker that never decided, as that of the main thread, needs no table.
    if (this.locations.isUsed) this.journal.read(this.inFlight.workers, this.locations);
  }
}

const fleets: Array<Fleet> = new Array<Fleet>();

/** The fleet of a namespace in this VM, made at first use; the first table size holds for as long as the VM lives. */
export function fleetOf(namespace: string, tableBytes: i32, instance: u64): Fleet {
  for (let i = 0; i < fleets.length; i++) {
    if (fleets[i].namespace == namespace) return fleets[i];
  }
  const fleet = new Fleet(namespace, tableBytes, instance);
  fleets.push(fleet);
  return fleet;
}
