import { Text } from "../bytes";
import { outLen, outPtr } from "../host/memory";
import { SharedResult, getShared } from "../host/shareddata";
import { Fault, heldOf, rowsOf } from "../peers/check";
import { Held } from "../peers/held";
import { Sequence } from "../peers/sequence";
import { Head } from "../peers/head";
import { Row } from "../peers/row";
import { ROW_BYTES } from "../peers/wire";
import { HostDirectory } from "./hosts";
import { Keys, setKeyIndex } from "./keys";
import { CAS_ATTEMPTS, LAYOUT_VERSION, MAX_HOSTS, MAX_PEERS } from "./layout";
import { SharedRecord, noteCasGaveUp } from "./record";
import {
  HIGHEST,
  SEEN,
  GATEWAY,
  HEARD_MS,
  AHEAD_MS,
  ROUND_TRIP_MS,
  MEASURED_MS,
  SLOTS,
  LATE_MS,
  HELD,
  NEXT,
  HELD_PRIORITY,
  HELD_TENANT,
  HELD_WORK,
  HELD_SINCE,
  HELD_LET_GO,
  PROPOSED,
  SETTLED,
  HEAD,
  PeerView,
} from "./peerview";
import { LoadBox } from "./loadbox";
import { BOX, PeerBox } from "./peerbox";

/** The place of a gateway that was not heard for this long may be taken by another, ms. */
const FORGOTTEN_MS: f64 = 10000;
/** A measured difference of clocks gives way to a worse one after this long, ms. */
const MEASURE_MS: f64 = 1000;

/**
 * What other gateways told, one value a gateway, written by whichever worker got the message:
 *
 * ```
 * ┌──────────┬─────────┬──────┬─────────┬──────────┬──────────────┬────────────┬─────────────┬───────┬─────────┐
 * │version 4 │highest 4│seen 8│gateway 8│heard ms 8│clock ahead 8 │round trip 8│measured ms 8│slots 4│late ms 4│
 * └──────────┴─────────┴──────┴─────────┴──────────┴──────────────┴────────────┴─────────────┴───────┴─────────┘
 * held: │count 2│next 2│priority 4│tenant 4│work 4│since ms 8│let go ms 8│ proposed 2│settled 2│ 4 │
 * per slot: │q 2│d 2│generation 1│ 1 │streams 2│work 4│context 4│newest ms 8│inserted 8│its clock 8│said in message 4│ 4 │speeds 6│ 2 │
 * ```
 * A second value counts the changes of each, so that readers look at one small value to know what is new.
 *
 * How old a message is: each answer to a message of ours tells the other's clock, and with half the round trip how far ahead
 * it is. A gateway that doesn't answer in time is not believed to be in time.
 */
export class PeerTable {
  private key: Text;
  private record: SharedRecord;
  private marks: SharedRecord;
  private sequence: Sequence = new Sequence();
  /** Whose record each is, as far as this worker knows. */
  private names: StaticArray<u64> = new StaticArray<u64>(MAX_PEERS);
  /** By position in the message at hand: slot of the host, −1 if it isn't known here. */
  readonly slots: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);

  constructor(
    keys: Keys,
    private hosts: HostDirectory,
  ) {
    const key = keys.indexed("peer", 0);
    this.key = key;
    this.record = new SharedRecord(key, HEAD + MAX_HOSTS * BOX);
    this.marks = new SharedRecord(keys.single("peermarks"), 4 + MAX_PEERS * 4);
    this.marks.create();
  }

  /** Takes over the rows of an update that was checked; `slots` then says where its hosts are. */
  take(at: usize, nowMs: f64): Fault {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const index = this.find(Head.gateway(at), nowMs);
      if (index < 0) return Fault.Crowded;
      const bytes = this.record.bytes;
      const sequence = this.sequence;
      sequence.highest = load<u32>(bytes + HIGHEST);
      sequence.seen = load<u64>(bytes + SEEN);
      if (!sequence.take(Head.sequence(at))) return Fault.Replayed;
      store<u32>(bytes + HIGHEST, sequence.highest);
      store<u64>(bytes + SEEN, sequence.seen);
      const lateMs = Math.max(0, nowMs + load<f64>(bytes + AHEAD_MS) - Head.sentMs(at));
      const isLast = sequence.highest == Head.sequence(at);
      if (isLast) {
        store<f64>(bytes + HEARD_MS, nowMs - lateMs);
        store<f32>(bytes + LATE_MS, <f32>lateMs);
        this.takeHeld(heldOf(at), nowMs - lateMs);
        store<u16>(bytes + PROPOSED, Head.proposed(at));
        store<u16>(bytes + SETTLED, Head.settled(at));
      }
      this.takeRows(at, nowMs - lateMs, isLast);
      if (this.commit()) {
        this.mark(index);
        return Fault.None;
      }
    }
    noteCasGaveUp();
    return Fault.Crowded;
  }

  /**
   * A gateway answered: its clock showed `theirMs` between `sentMs` and `nowMs` of ours.
   * Of several answers the one with the shortest round trip tells best.
   */
  measure(gateway: u64, theirMs: f64, sentMs: f64, nowMs: f64): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const index = this.find(gateway, nowMs);
      if (index < 0) return;
      const bytes = this.record.bytes;
      const roundTripMs = Math.max(nowMs - sentMs, 0);
      const ageMs = Math.abs(nowMs - load<f64>(bytes + MEASURED_MS));
      if (ageMs < MEASURE_MS && roundTripMs >= load<f64>(bytes + ROUND_TRIP_MS)) return;
      store<f64>(bytes + AHEAD_MS, theirMs - (sentMs + roundTripMs / 2));
      store<f64>(bytes + ROUND_TRIP_MS, roundTripMs);
      store<f64>(bytes + MEASURED_MS, nowMs);
      if (this.commit()) {
        this.mark(index);
        return;
      }
    }
    noteCasGaveUp();
  }

  private takeHeld(held: usize, saidMs: f64): void {
    const bytes = this.record.bytes;
    store<u16>(bytes + HELD, <u16>Held.count(held));
    store<u16>(bytes + NEXT, <u16>Held.next(held));
    store<i32>(bytes + HELD_PRIORITY, Held.priority(held));
    store<u32>(bytes + HELD_TENANT, Held.tenant(held));
    store<f32>(bytes + HELD_WORK, <f32>Held.workMs(held));
    store<f64>(bytes + HELD_SINCE, saidMs - Held.waitedMs(held));
    store<f64>(bytes + HELD_LET_GO, saidMs - Held.letGoAgeMs(held));
  }

  private takeRows(at: usize, saidMs: f64, isLast: bool): void {
    const bytes = this.record.bytes;
    const message = Head.sequence(at);
    const count = Head.hosts(at);
    const known = PeerView.slots(bytes);
    if (Head.isFull(at) && isLast) {
      for (let slot = 0; slot < known; slot++) PeerBox.clear(PeerView.box(bytes, slot), message);
    }
    for (let i = 0; i < count; i++) {
      const row = rowsOf(at) + <usize>(i * ROW_BYTES);
      const slot = this.hosts.findHash(Row.host(row));
      if (i < MAX_HOSTS) unchecked((this.slots[i] = slot));
      if (slot < 0) continue;
      this.grow(slot + 1);
      const box = PeerView.box(bytes, slot);
      const generation = this.hosts.generation(slot);
      const isOther = LoadBox.generation(box) != generation;
      if (isOther) PeerBox.begin(box, generation);
      PeerBox.takeClock(box, Row.clockTokens(row));
      if (isOther || !PeerBox.isOlder(box, message)) PeerBox.takeLoad(box, row, message, saidMs);
    }
  }

  /** Reads a gateway's record into the local copy; one that is new takes a free or forgotten place. −1: there is none. */
  private find(gateway: u64, nowMs: f64): i32 {
    const known = this.names.indexOf(gateway);
    if (known >= 0 && this.load(known) == gateway) return known;
    let free = -1;
    for (let index = 0; index < MAX_PEERS; index++) {
      setKeyIndex(this.key, index);
      // Looks before it copies.
      if (getShared(this.key) != SharedResult.Ok || outLen < HEAD) {
        if (free < 0) free = index;
        break;
      }
      const isOurs = load<u32>(outPtr) == LAYOUT_VERSION;
      if (isOurs && PeerView.gateway(outPtr) == gateway) {
        if (this.load(index) == gateway) return index;
      }
      const isForgotten = !isOurs || Math.abs(nowMs - PeerView.heardMs(outPtr)) > FORGOTTEN_MS;
      if (isForgotten && free < 0) free = index;
    }
    if (free < 0) return -1;
    this.load(free);
    this.names[free] = gateway;
    this.renew(gateway, nowMs);
    return free;
  }

  /** Reads a record into the local copy; returns whose it is. */
  private load(index: i32): u64 {
    setKeyIndex(this.key, index);
    this.record.load();
    const gateway = PeerView.gateway(this.record.bytes);
    unchecked((this.names[index] = gateway));
    return gateway;
  }

  /** A place gets a new gateway. What the one before it had inserted stays in the caches, so that stays. */
  private renew(gateway: u64, nowMs: f64): void {
    const bytes = this.record.bytes;
    const slots = PeerView.slots(bytes);
    memory.fill(bytes, 0, HEAD);
    store<u64>(bytes + GATEWAY, gateway);
    store<f64>(bytes + HEARD_MS, nowMs - FORGOTTEN_MS / 2);
    store<i32>(bytes + SLOTS, slots);
    for (let slot = 0; slot < slots; slot++) PeerBox.renew(PeerView.box(bytes, slot));
  }

  private grow(slots: i32): void {
    const bytes = this.record.bytes;
    const from = PeerView.slots(bytes);
    if (slots <= from) return;
    memory.fill(PeerView.box(bytes, from), 0, (slots - from) * BOX);
    store<i32>(bytes + SLOTS, slots);
  }

  private commit(): bool {
    const size = HEAD + PeerView.slots(this.record.bytes) * BOX;
    return this.record.store(size) == SharedResult.Ok;
  }

  /** Counts a change. */
  private mark(index: i32): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const marks = this.marks;
      marks.load();
      const at = marks.bytes + <usize>(4 + index * 4);
      store<u32>(at, load<u32>(at) + 1);
      if (marks.store(max(marks.size, 8 + index * 4)) == SharedResult.Ok) return;
    }
    noteCasGaveUp();
  }
}
