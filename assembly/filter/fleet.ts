import { Account } from "../state/account";
import { HostDirectory } from "../state/hosts";
import { HostStates } from "../state/hoststates";
import { InFlight } from "../state/inflight";
import { Keys } from "../state/keys";
import { Learned } from "../state/learned";
import { Lease } from "../state/lease";
import { Locations } from "../state/locations";
import { MemberList } from "../state/members";
import { Outbox } from "../state/outbox";
import { PeerLoads } from "../state/peerloads";
import { PeerTable } from "../state/peers";
import { Responses } from "../state/responses";
import { WorkerRow } from "../state/row";
import { Speeds } from "./speeds";

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
  readonly responses: Responses;
  readonly learned: Learned;
  /** Held by the one VM that polls and publishes gauges. */
  readonly lease: Lease;
  /** What other gateways have in flight, their records, and what is told them. */
  readonly peerLoads: PeerLoads;
  readonly peerTable: PeerTable;
  readonly outbox: Outbox;
  readonly memberList: MemberList;

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
    this.speeds = new Speeds(hosts, states);
    const peerLoads = new PeerLoads(keys, hosts);
    this.peerLoads = peerLoads;
    this.peerTable = new PeerTable(keys, hosts);
    this.outbox = new Outbox(keys);
    this.memberList = new MemberList(keys);
    this.inFlight = new InFlight(keys, hosts, row, peerLoads);
    this.account = new Account(hosts, row);
    this.locations = new Locations(keys, hosts, tableBytes);
    this.responses = new Responses(keys);
    this.learned = new Learned(keys);
    this.lease = new Lease(keys, "lease", instance);
  }

  /** Brings the local copies up to date: at ticks, and when a configuration was taken. */
  refresh(nowMs: f64): void {
    this.hosts.refresh();
    this.states.refresh();
    this.speeds.refresh(nowMs);
    this.row.heartbeat(nowMs);
    this.peerLoads.refreshAll(nowMs);
    this.inFlight.refreshAll(nowMs);
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
