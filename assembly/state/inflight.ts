import { pendingMs } from "../peers/merge";
import { HostDirectory } from "./hosts";
import { PeerLoads } from "./peerloads";
import { MAX_HOSTS } from "./layout";
import { ROW_DEAD_MS, WorkerRow } from "./row";
import { RowView } from "./rowview";
import { LoadBox } from "./loadbox";
import { Workers } from "./workers";

/** How much longer a host takes than since it last got on, as a share of that time. */
const LATE_SHARE: f64 = 0.35;

/**
 * What all workers of this Envoy have in flight, per host: the sum of the rows, with own row always exact and the others' as
 * of their last read. A dead row counts no load, but its token clocks stay.
 */
export class InFlight {
  // Sums of the other rows, by slot.
  private waitingSum: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  private streamsSum: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  private decodingSum: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  private workSum: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  private contextSum: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  private clockSum: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  private lastPrefill: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  private newestMax: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);

  /** Held by the other workers' queues, and bytes of their bodies. */
  private heldSum: i32 = 0;
  private heldBytesSum: f64 = 0;
  /** Prompts that they proposed and settled. */
  private proposedSum: u16 = 0;
  private settledSum: u16 = 0;

  constructor(
    readonly workers: Workers,
    private hosts: HostDirectory,
    private own: WorkerRow,
    private peers: PeerLoads,
  ) {}

  /** Reads all rows: at ticks. */
  refreshAll(nowMs: f64): void {
    const changed = this.workers.readAll(nowMs);
    // Sums are rebuilt even when nothing changed: a row dies by the passing of time.
    if (changed || this.workers.count > 0) this.sum(nowMs);
  }

  /** Reads the rows that are due: before each decision. */
  refreshSome(nowMs: f64): void {
    if (this.workers.readSome(nowMs)) this.sum(nowMs);
  }

  /** Requests without a first token at a host, of this Envoy. */
  waiting(slot: i32): i32 {
    return unchecked(this.waitingSum[slot]) + LoadBox.waiting(this.ownBox(slot));
  }

  /** Those of the waiting whose answers are to be streamed, of this Envoy. */
  streams(slot: i32): i32 {
    return unchecked(this.streamsSum[slot]) + LoadBox.streams(this.ownBox(slot));
  }

  /** Requests past their first token at a host, of this Envoy. */
  decoding(slot: i32): i32 {
    return unchecked(this.decodingSum[slot]) + LoadBox.decoding(this.ownBox(slot));
  }

  /** Context tokens of the requests that decode at a host. */
  contextTokens(slot: i32): f64 {
    return unchecked(this.contextSum[slot]) + LoadBox.contextTokens(this.ownBox(slot));
  }

  /**
   * Prefill milliseconds that a host still has before it would start something new, from what this Envoy and the gateways
   * that it hears sent: max(0, Σ work − (now − newest)), where `newest` is the latest time at which any worker's queue there
   * was as long as its work says (a queue of `work` ms noted at `newest` has shrunk by the time since). A host that got on
   * with no streamed answer for a while isn't about to be idle, however little it was given: it has LATE_SHARE of that while
   * to go at least.
   */
  pendingMs(slot: i32, nowMs: f64): f64 {
    const work = this.workMs(slot);
    const newest = this.newestMs(slot);
    const peers = this.peers;
    const others = peers.heard == 0 ? 0 : unchecked(peers.newestMs[slot]);
    const sinceMs = max(0.0, nowMs - newest);
    let own = max(0.0, work - sinceMs);
    if (this.streams(slot) + (peers.heard == 0 ? 0 : unchecked(peers.streams[slot])) > 0) {
      own = max(own, LATE_SHARE * max(0.0, nowMs - max(newest, others)));
    }
    if (peers.heard == 0) return own;
    return pendingMs(own, work + unchecked(peers.workMs[slot]), max(newest, others), nowMs);
  }

  /** Whether nothing is in flight at a host as far as is known: `pendingMs` and `total` are 0 then. */
  @inline
  isQuiet(slot: i32): bool {
    // No waiting and no decoding requests of own: the box's first two numbers.
    const own = load<u32>(this.ownBox(slot));
    const others = unchecked(this.waitingSum[slot]) | unchecked(this.decodingSum[slot]);
    return own == 0 && others == 0 && this.peers.heard == 0;
  }

  /** Expected prefill ms of this Envoy's requests without a first token at a host. */
  workMs(slot: i32): f64 {
    return unchecked(this.workSum[slot]) + LoadBox.workMs(this.ownBox(slot));
  }

  /** The `newest` of the formula above, of this Envoy, ms. */
  newestMs(slot: i32): f64 {
    return max(unchecked(this.newestMax[slot]), LoadBox.newestMs(this.ownBox(slot)));
  }

  /** Expected prefill of what got its first token last, at `newestMs`, of this Envoy, ms. */
  lastPrefillMs(slot: i32): f64 {
    const box = this.ownBox(slot);
    const isOwn = LoadBox.newestMs(box) >= unchecked(this.newestMax[slot]);
    return isOwn ? LoadBox.lastPrefillMs(box) : unchecked(this.lastPrefill[slot]);
  }

  /**
   * Since when a host is on with what other workers and gateways have waiting there, ms; now, where it isn't or should be done
   * by now. A queue that joins theirs is as old as theirs: then the sums of the formula above count what has passed once.
   * Now, too, for a gateway alone: between workers' rows, which are never late, it gained nothing (heavy-light at 0.9 of
   * saturation, four seeds).
   */
  othersNewestMs(slot: i32, nowMs: f64): f64 {
    const peers = this.peers;
    if (peers.heard == 0) return nowMs;
    const work = unchecked(this.workSum[slot]) + unchecked(peers.workMs[slot]);
    const newest = max(unchecked(this.newestMax[slot]), unchecked(peers.newestMs[slot]));
    return newest <= nowMs && work > nowMs - newest ? newest : nowMs;
  }

  /** Requests at a host, of this Envoy and the gateways that it hears. */
  total(slot: i32): i32 {
    return this.totalWaiting(slot) + this.totalDecoding(slot);
  }

  /** Those of them without a first token. */
  totalWaiting(slot: i32): i32 {
    return this.waiting(slot) + unchecked(this.peers.waiting[slot]);
  }

  /** Those of them past it. */
  totalDecoding(slot: i32): i32 {
    return this.decoding(slot) + unchecked(this.peers.decoding[slot]);
  }

  /** Requests that wait in this Envoy's queues, over all workers. */
  held(): i32 {
    return this.heldSum + RowView.held(this.own.bytes);
  }

  /** Bytes of their bodies. */
  heldBytes(): f64 {
    return this.heldBytesSum + RowView.heldBytes(this.own.bytes);
  }

  /** Heavy prompts that this Envoy's workers proposed, and settled, modulo 2^16. */
  proposed(): u16 {
    return this.proposedSum + RowView.proposed(this.own.bytes);
  }
  settled(): u16 {
    return this.settledSum + RowView.settled(this.own.bytes);
  }

  /** Token clock of a host: tokens ever inserted into its cache by this Envoy, and by others since they are heard. */
  clockTokens(slot: i32): f64 {
    return this.ownClockTokens(slot) + unchecked(this.peers.clockTokens[slot]);
  }

  /** This Envoy's part of it. */
  ownClockTokens(slot: i32): f64 {
    return unchecked(this.clockSum[slot]) + LoadBox.clockTokens(this.ownBox(slot));
  }

  @inline
  private ownBox(slot: i32): usize {
    return RowView.box(this.own.bytes, slot);
  }

  private sum(nowMs: f64): void {
    const hosts = this.hosts.count;
    this.heldSum = 0;
    this.heldBytesSum = 0;
    this.proposedSum = 0;
    this.settledSum = 0;
    for (let slot = 0; slot < hosts; slot++) {
      unchecked((this.waitingSum[slot] = 0));
      unchecked((this.streamsSum[slot] = 0));
      unchecked((this.decodingSum[slot] = 0));
      unchecked((this.workSum[slot] = 0));
      unchecked((this.contextSum[slot] = 0));
      unchecked((this.clockSum[slot] = 0));
      unchecked((this.newestMax[slot] = 0));
    }
    const workers = this.workers;
    for (let index = 0; index < workers.count; index++) {
      const row = workers.row(index);
      if (row != 0) this.addRow(row, workers.wroteWithin(index, ROW_DEAD_MS, nowMs));
    }
  }

  private addRow(row: usize, alive: bool): void {
    if (alive) {
      this.heldSum += RowView.held(row);
      this.heldBytesSum += RowView.heldBytes(row);
      this.proposedSum += RowView.proposed(row);
      this.settledSum += RowView.settled(row);
    }
    const count = min(RowView.count(row), this.hosts.count);
    for (let slot = 0; slot < count; slot++) {
      const box = RowView.box(row, slot);
      unchecked((this.clockSum[slot] += LoadBox.clockTokens(box)));
      if (!alive || LoadBox.generation(box) != this.hosts.generation(slot)) continue;
      unchecked((this.waitingSum[slot] += LoadBox.waiting(box)));
      unchecked((this.streamsSum[slot] += LoadBox.streams(box)));
      unchecked((this.decodingSum[slot] += LoadBox.decoding(box)));
      unchecked((this.workSum[slot] += LoadBox.workMs(box)));
      unchecked((this.contextSum[slot] += LoadBox.contextTokens(box)));
      const newest = LoadBox.newestMs(box);
      if (newest > unchecked(this.newestMax[slot])) {
        unchecked((this.newestMax[slot] = newest));
        unchecked((this.lastPrefill[slot] = LoadBox.lastPrefillMs(box)));
      }
    }
  }
}
