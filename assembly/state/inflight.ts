import { Text } from "../bytes";
import { outLen, outPtr } from "../host/memory";
import { SharedResult, getShared } from "../host/shareddata";
import { pendingMs } from "../peers/merge";
import { HostDirectory } from "./hosts";
import { Keys, setKeyIndex } from "./keys";
import { PeerLoads } from "./peerloads";
import { LAYOUT_VERSION, MAX_HOSTS, MAX_WORKERS, ROW_HEAD, ROW_RECORD } from "./layout";
import { ROW_DEAD_MS, RowView, WorkerRow } from "./row";
import { LoadBox } from "./loadbox";

/** Other rows read at each decision; with more workers than this the rows take turns, so the price per request is bounded. */
const ROWS_PER_DECISION: i32 = 4;

/**
 * A worker that saw no other for so many decisions is taken to be the only one, as in an Envoy of one worker thread. What it
 * does is then told at ticks, not with each request, and looked for others is at ticks and at one decision in so many.
 */
const LONE_AFTER: i32 = 1000;
const LONE_PROBES: i32 = 16;

/** How much longer a host takes than since it last got on, as a share of that time. */
const LATE_SHARE: f64 = 0.35;

/** What one other worker's row said when it was read last. */
class OtherRow {
  seq: u32 = 0;
  heartbeatMs: f64 = 0;
  instance: u64 = 0;
  capacity: i32 = 0;
  bytes: usize = 0;
}

/**
 * What all workers of this Envoy have in flight, per host: the sum of the rows, with own row always exact and the others' as
 * of their last read. A dead row counts no load, but its token clocks stay.
 */
export class InFlight {
  private key: Text;
  private others: Array<OtherRow> = new Array<OtherRow>();
  /** Rows that exist, found by probing one past the last known. */
  private known: i32 = 0;
  private turn: i32 = 0;
  /** Decisions since another worker was about, up to LONE_AFTER; and since others were looked for. */
  private aloneFor: i32 = 0;
  private unprobed: i32 = 0;

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

  constructor(
    keys: Keys,
    private hosts: HostDirectory,
    private own: WorkerRow,
    private peers: PeerLoads,
  ) {
    this.key = keys.indexed("row", 0);
  }

  /** Reads all rows: at ticks. */
  refreshAll(nowMs: f64): void {
    let changed = false;
    for (let index = 0; index < this.known; index++) {
      if (index != this.own.index && this.read(index)) changed = true;
    }
    while (this.known < MAX_WORKERS && this.probe(this.known)) {
      this.known++;
      changed = true;
    }
    if (this.hasOthers(nowMs)) this.aloneFor = 0;
    this.own.isLone = this.aloneFor >= LONE_AFTER;
    // Sums are rebuilt even when nothing changed: a row dies by the passing of time.
    if (changed || this.known > 0) this.sum(nowMs);
  }

  /** Reads a bounded number of rows, those whose turn it is: before each decision. */
  refreshSome(nowMs: f64): void {
    if (this.own.isLone) {
      if (++this.unprobed < LONE_PROBES) return;
      this.unprobed = 0;
    } else if (this.aloneFor < LONE_AFTER) this.aloneFor++;
    // A worker that just began is known from its first request on: what it placed counts at once.
    let changed = this.known < MAX_WORKERS && this.probe(this.known);
    if (changed) {
      this.known++;
      this.aloneFor = 0;
      this.own.isLone = false;
    }
    if (this.known == 0) return;
    let reads = 0;
    for (let i = 0; i < this.known && reads < ROWS_PER_DECISION; i++) {
      this.turn = this.turn + 1 >= this.known ? 0 : this.turn + 1;
      if (this.turn == this.own.index) continue;
      reads++;
      if (this.read(this.turn)) changed = true;
    }
    if (changed) this.sum(nowMs);
  }

  /** Rows that are known, own one included. */
  get rows(): i32 {
    return this.known;
  }

  /** Changes in the journal of another worker's row. */
  logged(index: i32): u64 {
    if (index >= this.others.length) return 0;
    const row = unchecked(this.others[index]);
    return row.bytes != 0 ? RowView.logged(row.bytes) : 0;
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
   * saturation, four seeds: TTFT p90 1,081 ms with this and `othersGotOnMs`, 950 without).
   */
  othersNewestMs(slot: i32, nowMs: f64): f64 {
    const peers = this.peers;
    if (peers.heard == 0) return nowMs;
    const work = unchecked(this.workSum[slot]) + unchecked(peers.workMs[slot]);
    const newest = max(unchecked(this.newestMax[slot]), unchecked(peers.newestMs[slot]));
    return newest <= nowMs && work > nowMs - newest ? newest : nowMs;
  }

  /** The last time that a host is known to have got on with something of others, ms; 0 for a gateway alone. */
  othersGotOnMs(slot: i32): f64 {
    const peers = this.peers;
    if (peers.heard == 0) return 0;
    return max(unchecked(this.newestMax[slot]), unchecked(peers.newestMs[slot]));
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

  /** Rows of other workers, as far as they are known: 0 … `otherRows` − 1. */
  get otherRows(): i32 {
    return this.others.length;
  }

  /** Image of another worker's row, if requests are held there and it was written within so many ms; 0 otherwise. */
  holding(index: i32, withinMs: f64, nowMs: f64): usize {
    const row = unchecked(this.others[index]);
    if (index == this.own.index || row.bytes == 0 || RowView.held(row.bytes) == 0) return 0;
    return nowMs - row.heartbeatMs <= withinMs ? row.bytes : 0;
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
    const box = RowView.box(this.own.bytes, slot);
    return box;
  }

  /** Whether any other worker is alive, as of the last read. */
  private hasOthers(nowMs: f64): bool {
    for (let index = 0; index < this.others.length; index++) {
      const row = unchecked(this.others[index]);
      if (index == this.own.index || row.bytes == 0) continue;
      if (nowMs - row.heartbeatMs < ROW_DEAD_MS) return true;
    }
    return false;
  }

  private probe(index: i32): bool {
    if (index == this.own.index) {
      this.ensure(index);
      return true;
    }
    return this.read(index);
  }

  private ensure(index: i32): OtherRow {
    while (this.others.length <= index) this.others.push(new OtherRow());
    return this.others[index];
  }

  /** Copies a row if it changed since it was read last. */
  private read(index: i32): bool {
    setKeyIndex(this.key, index);
    if (getShared(this.key) != SharedResult.Ok) return false;
    const length = outLen;
    if (length < ROW_HEAD || load<u32>(outPtr) != LAYOUT_VERSION) return false;
    const row = this.ensure(index);
    if (
      row.bytes != 0 &&
      row.seq == RowView.seq(outPtr) &&
      row.instance == RowView.instance(outPtr)
    ) {
      row.heartbeatMs = RowView.heartbeatMs(outPtr);
      return false;
    }
    if (length > row.capacity) {
      if (row.bytes != 0) heap.free(row.bytes);
      row.capacity = ROW_HEAD + MAX_HOSTS * ROW_RECORD;
      if (length > row.capacity) return false;
      row.bytes = heap.alloc(row.capacity);
    }
    memory.copy(row.bytes, outPtr, length);
    row.seq = RowView.seq(outPtr);
    row.instance = RowView.instance(outPtr);
    row.heartbeatMs = RowView.heartbeatMs(outPtr);
    return true;
  }

  private sum(nowMs: f64): void {
    const hosts = this.hosts.count;
    this.heldSum = 0;
    this.heldBytesSum = 0;
    for (let slot = 0; slot < hosts; slot++) {
      unchecked((this.waitingSum[slot] = 0));
      unchecked((this.streamsSum[slot] = 0));
      unchecked((this.decodingSum[slot] = 0));
      unchecked((this.workSum[slot] = 0));
      unchecked((this.contextSum[slot] = 0));
      unchecked((this.clockSum[slot] = 0));
      unchecked((this.newestMax[slot] = 0));
    }
    for (let index = 0; index < this.others.length; index++) {
      const row = this.others[index];
      if (index != this.own.index && row.bytes != 0) this.addRow(row, nowMs);
    }
  }

  private addRow(row: OtherRow, nowMs: f64): void {
    const alive = nowMs - row.heartbeatMs < ROW_DEAD_MS;
    if (alive) {
      this.heldSum += RowView.held(row.bytes);
      this.heldBytesSum += RowView.heldBytes(row.bytes);
    }
    const count = min(RowView.count(row.bytes), this.hosts.count);
    for (let slot = 0; slot < count; slot++) {
      const box = RowView.box(row.bytes, slot);
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
