import { Text } from "../bytes";
import { outLen, outPtr } from "../host/memory";
import { SharedResult, getShared } from "../host/shareddata";
import { Next } from "../peers/held";
import { belief } from "../peers/merge";
import { Sequence } from "../peers/sequence";
import { HostDirectory } from "./hosts";
import { Keys, setKeyIndex } from "./keys";
import { LAYOUT_VERSION, MAX_HOSTS, MAX_PEERS } from "./layout";
import { PeerBox } from "./peerbox";
import { PeerView } from "./peerview";
import { PeerSpeeds } from "./peerspeeds";
import { LoadBox } from "./loadbox";

/** A gateway's record as it was read last. */
class Heard {
  mark: u32 = 0;
  capacity: i32 = 0;
  size: i32 = 0;
  bytes: usize = 0;
}

/**
 * What all gateways that are heard have in flight, per host: sums of their rows as of the last read. Own Envoy's is not in
 * it. All zero while there are no peers.
 */
export class PeerLoads {
  /** Whether there may be peers; without, nothing is read. */
  isOn: bool = false;
  private name: u64 = 0;
  /** Of which gateways and hosts the order was made. */
  private turnsOf: u64 = 0;
  /** Gateways that are heard, as of the last sum. */
  heard: i32 = 0;
  /** How much what they say counts, together: `heard` while all of it is young. */
  believed: f64 = 0;
  /** How many of their names are lower than own. */
  lower: i32 = 0;
  /** Age of the oldest of their words, ms. */
  oldestMs: f64 = 0;

  /**
   * Own order of hosts, 0 first … below 1, by slot: gateways begin at different hosts, so that those that place prompts at the
   * same moment, before they hear of each other, do so at different hosts.
   */
  readonly turn: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);

  /** By slot. */
  readonly waiting: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  readonly streams: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  readonly decoding: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  /** Expected prefill ms of those without a first token, and the latest `newest` of any gateway. */
  readonly workMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly newestMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** Tokens inserted by other gateways: a part of the host's token clock. */
  readonly clockTokens: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);

  readonly speeds: PeerSpeeds = new PeerSpeeds();

  private key: Text;
  private marksKey: Text;
  private records: Array<Heard> = new Array<Heard>();

  constructor(
    keys: Keys,
    private hosts: HostDirectory,
  ) {
    this.key = keys.indexed("peer", 0);
    this.marksKey = keys.single("peermarks");
  }

  /** Reads what is new: before each decision. */
  refresh(nowMs: f64): void {
    if (this.isOn && this.readNew()) this.sum(nowMs);
  }

  /** Puts the hosts into own order: at ticks. @param name this gateway's */
  takeTurns(name: u64): void {
    this.name = name;
    const hosts = this.hosts;
    let known = 0;
    let signature: u64 = ((<u64>this.lower) << 32) + this.heard;
    for (let slot = 0; slot < hosts.count; slot++) {
      if (hosts.hash(slot) != 0) known++;
      signature = signature * 31 + hosts.hash(slot);
    }
    if (signature == this.turnsOf) return;
    this.turnsOf = signature;
    const first = (this.lower * known) / (this.heard + 1);
    for (let slot = 0; slot < hosts.count; slot++) {
      const hash = hosts.hash(slot);
      if (hash == 0) continue;
      let place = 0;
      for (let other = 0; other < hosts.count; other++) {
        if (hosts.hash(other) != 0 && hosts.hash(other) < hash) place++;
      }
      const turn = (place - first + known) % known;
      unchecked((this.turn[slot] = <f64>turn / <f64>known));
    }
  }

  /** Gateways that there may be records of: 0 … `records` − 1. */
  get recordCount(): i32 {
    return this.isOn ? this.records.length : 0;
  }

  /** Record (`PeerView`) of a gateway, if something contends there for room and it said so within so many ms; 0 otherwise. */
  contending(index: i32, withinMs: f64, nowMs: f64): usize {
    const record = unchecked(this.records[index]);
    if (record.size == 0 || PeerView.next(record.bytes) == Next.Nobody) return 0;
    if (!PeerView.isMeasured(record.bytes, nowMs)) return 0;
    return nowMs - PeerView.heardMs(record.bytes) <= withinMs ? record.bytes : 0;
  }

  /** Whether a request that comes here may have to leave its room to another gateway's, as of what that said within so many ms. */
  isContended(isHeavy: bool, withinMs: f64, nowMs: f64): bool {
    for (let i = 0, n = this.recordCount; i < n; i++) {
      const at = this.contending(i, withinMs, nowMs);
      if (at != 0 && (isHeavy || PeerView.next(at) != Next.Heavy)) return true;
    }
    return false;
  }

  /** Whether a gateway's updates have come up to a number; true, too, for one of which there is no record. */
  hasHeard(name: u64, sequence: u32): bool {
    for (let i = 0, n = this.recordCount; i < n; i++) {
      const record = unchecked(this.records[i]);
      if (record.size == 0 || PeerView.gateway(record.bytes) != name) continue;
      return Sequence.isWhole(
        PeerView.highest(record.bytes),
        PeerView.seen(record.bytes),
        sequence,
      );
    }
    return true;
  }

  /** Record (`PeerView`) of a gateway whose name is lower than own, and which said something within so many ms; 0 otherwise. */
  lowerThanOwn(index: i32, withinMs: f64, nowMs: f64): usize {
    const record = unchecked(this.records[index]);
    if (record.size == 0 || PeerView.gateway(record.bytes) >= this.name) return 0;
    return nowMs - PeerView.heardMs(record.bytes) <= withinMs ? record.bytes : 0;
  }

  /** Reads what is new, and drops what is too old: at ticks. */
  refreshAll(nowMs: f64): void {
    if (!this.isOn) return;
    this.readNew();
    if (this.records.length > 0) this.sum(nowMs);
  }

  private readNew(): bool {
    if (getShared(this.marksKey) != SharedResult.Ok) return false;
    if (load<u32>(outPtr) != LAYOUT_VERSION) return false;
    const marks = outPtr + 4;
    const count = min((outLen - 4) >> 2, MAX_PEERS);
    let changed = false;
    for (let index = 0; index < count; index++) {
      const mark = load<u32>(marks + ((<usize>index) << 2));
      while (this.records.length <= index) this.records.push(new Heard());
      const record = unchecked(this.records[index]);
      if (record.mark == mark) continue;
      if (!this.read(index, record)) continue;
      record.mark = mark;
      changed = true;
    }
    return changed;
  }

  private read(index: i32, record: Heard): bool {
    setKeyIndex(this.key, index);
    if (getShared(this.key) != SharedResult.Ok || load<u32>(outPtr) != LAYOUT_VERSION) return false;
    if (outLen > record.capacity) {
      if (record.bytes != 0) heap.free(record.bytes);
      record.capacity = outLen;
      record.bytes = heap.alloc(outLen);
    }
    memory.copy(record.bytes, outPtr, outLen);
    record.size = outLen;
    return true;
  }

  private sum(nowMs: f64): void {
    const count = this.hosts.count;
    for (let slot = 0; slot < count; slot++) {
      unchecked((this.waiting[slot] = 0));
      unchecked((this.streams[slot] = 0));
      unchecked((this.decoding[slot] = 0));
      unchecked((this.workMs[slot] = 0));
      unchecked((this.newestMs[slot] = 0));
      unchecked((this.clockTokens[slot] = 0));
      this.speeds.clear(slot);
    }
    this.heard = 0;
    this.believed = 0;
    this.lower = 0;
    this.oldestMs = 0;
    for (let index = 0; index < this.records.length; index++) {
      const record = unchecked(this.records[index]);
      if (record.size > 0) this.add(record.bytes, nowMs);
    }
  }

  private add(at: usize, nowMs: f64): void {
    const ageMs = nowMs - PeerView.heardMs(at);
    const isMeasured = PeerView.isMeasured(at, nowMs);
    const share = isMeasured ? belief(ageMs, PeerView.lateMs(at)) : 0;
    const isHeard = share > 0;
    if (isHeard) {
      this.heard++;
      this.believed += share;
      if (PeerView.gateway(at) < this.name) this.lower++;
      this.oldestMs = Math.max(this.oldestMs, ageMs);
    }
    const count = min(PeerView.slots(at), this.hosts.count);
    for (let slot = 0; slot < count; slot++) {
      const box = PeerView.box(at, slot);
      if (LoadBox.generation(box) != this.hosts.generation(slot)) continue;
      unchecked((this.clockTokens[slot] += LoadBox.clockTokens(box)));
      if (!isHeard) continue;
      unchecked((this.waiting[slot] += shareOf(LoadBox.waiting(box), share)));
      unchecked((this.streams[slot] += shareOf(LoadBox.streams(box), share)));
      unchecked((this.decoding[slot] += shareOf(LoadBox.decoding(box), share)));
      unchecked((this.workMs[slot] += share * LoadBox.workMs(box)));
      this.speeds.add(slot, PeerBox.learned(box), share);
      const newest = LoadBox.newestMs(box);
      if (newest > unchecked(this.newestMs[slot])) unchecked((this.newestMs[slot] = newest));
    }
  }
}

@inline
function shareOf(count: i32, share: f64): i32 {
  return share == 1 ? count : <i32>Math.round(<f64>count * share);
}
