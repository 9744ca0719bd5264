import { hashBytes } from "../prefix/hash";
import { SharedResult } from "../host/shareddata";
import { Keys } from "./keys";
import { ADDRESS_BYTES, CAS_ATTEMPTS, DIRECTORY_HEAD, DIRECTORY_RECORD, MAX_HOSTS } from "./layout";
import { SharedRecord, noteCasGaveUp } from "./record";

/** Where a host is known from; a host without any source is free for reuse. */
export const enum Source {
  Config = 1,
  Discovery = 2,
  Metrics = 4,
  Answers = 8,
}

const GENERATION: i32 = 1;
const SOURCES: i32 = 2;
const FLAGS: i32 = 3;
const LAST_SEEN: i32 = 8;
const ADDRESS: i32 = 16;
const FLAG_UNHEALTHY: u8 = 1;
const FLAG_SPARE: u8 = 2;
/** A host that was heard of is noted as seen at most this often, ms. */
const SEEN_EVERY_MS: f64 = 60000;

/**
 * The hosts of one namespace: slot ↔ address, shared by all workers. A slot keeps its host for as long as any source names it;
 * a slot that is reused gets a new generation, so that everything recorded for the old host is void.
 */
export class HostDirectory {
  private record: SharedRecord;
  /** Local index: hash of each slot's address, 0 for a free slot. */
  private hashes: StaticArray<u64> = new StaticArray<u64>(MAX_HOSTS);
  /** Slots in use or once used: slot numbers are below this. */
  count: i32 = 0;
  /** Whether anything but answers names some host: else those that are known may be few of them. */
  areNamed: bool = false;
  /** How often the local copy was taken anew; wraps. */
  version: u32 = 0;

  constructor(keys: Keys) {
    this.record = new SharedRecord(
      keys.single("hosts"),
      DIRECTORY_HEAD + MAX_HOSTS * DIRECTORY_RECORD,
    );
    this.record.create();
  }

  /** Copies the shared directory; called at ticks and before each change. */
  refresh(): void {
    this.record.load();
    const count = load<i32>(this.record.bytes + 4);
    this.count = count > MAX_HOSTS ? MAX_HOSTS : count < 0 ? 0 : count;
    this.index();
  }

  /** Slot of an address, -1 if unknown here. */
  find(ptr: usize, len: i32): i32 {
    const hash = hashBytes(ptr, len);
    for (let slot = 0; slot < this.count; slot++) {
      if (
        unchecked(this.hashes[slot]) == hash &&
        this.addressLen(slot) == len &&
        memory.compare(this.addressPtr(slot), ptr, len) == 0
      ) {
        return slot;
      }
    }
    return -1;
  }

  /** Slot of the host whose address has this hash, −1 if there is none. */
  findHash(hash: u64): i32 {
    for (let slot = 0; slot < this.count; slot++) {
      if (unchecked(this.hashes[slot]) == hash) return hash != 0 ? slot : -1;
    }
    return -1;
  }

  /**
   * Names a host from a source, taking a slot for it if it is new.
   * @returns its slot, -1 if the address is too long or all slots are taken
   */
  add(ptr: usize, len: i32, source: Source, nowMs: f64): i32 {
    if (len <= 0 || len > ADDRESS_BYTES) return -1;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      this.refresh();
      let slot = this.find(ptr, len);
      if (slot >= 0 && (this.sources(slot) & source) != 0) return slot;
      if (slot < 0) slot = this.take(ptr, len);
      if (slot < 0) return -1;
      const at = this.at(slot);
      store<u8>(at + SOURCES, <u8>(load<u8>(at + SOURCES) | <u8>source));
      store<f64>(at + LAST_SEEN, nowMs);
      if (this.write()) return slot;
    }
    noteCasGaveUp();
    return -1;
  }

  /** Notes that a host was heard of. */
  touch(slot: i32, nowMs: f64): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      if (nowMs - this.lastSeenMs(slot) < SEEN_EVERY_MS) return;
      this.refresh();
      if (!this.isKnown(slot)) return;
      store<f64>(this.at(slot) + LAST_SEEN, nowMs);
      if (this.write()) return;
    }
    noteCasGaveUp();
  }

  /** When the host was named or heard of last, ms, to a minute. */
  @inline
  lastSeenMs(slot: i32): f64 {
    return load<f64>(this.at(slot) + LAST_SEEN);
  }

  /** Takes a source's word for a host back; the slot is freed when no source names it any more. */
  remove(slot: i32, source: Source): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      this.refresh();
      if (slot >= this.count || (this.sources(slot) & source) == 0) return;
      const at = this.at(slot);
      store<u8>(at + SOURCES, <u8>(load<u8>(at + SOURCES) & ~(<u8>source)));
      if (this.write()) return;
    }
    noteCasGaveUp();
  }

  /** Discovery's word on a host: whether it is unhealthy, and whether it is there for want of better ones only. */
  setHealth(slot: i32, unhealthy: bool, spare: bool): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      if (slot >= this.count) return;
      if (this.isUnhealthy(slot) == unhealthy && this.isSpare(slot) == spare) return;
      this.refresh();
      const at = this.at(slot) + FLAGS;
      store<u8>(at, (unhealthy ? FLAG_UNHEALTHY : 0) | (spare ? FLAG_SPARE : 0));
      if (this.write()) return;
    }
    noteCasGaveUp();
  }

  /** Whether the slot holds a host. */
  @inline
  isKnown(slot: i32): bool {
    return slot >= 0 && slot < this.count && unchecked(this.hashes[slot]) != 0;
  }

  /** Bits of `Source` that name the host. */
  @inline
  sources(slot: i32): u8 {
    return load<u8>(this.at(slot) + SOURCES);
  }

  /** Whether anything but answers names the host. */
  @inline
  isNamed(slot: i32): bool {
    return (this.sources(slot) & ~(<u8>Source.Answers)) != 0;
  }

  @inline
  isUnhealthy(slot: i32): bool {
    return (load<u8>(this.at(slot) + FLAGS) & FLAG_UNHEALTHY) != 0;
  }

  @inline
  isSpare(slot: i32): bool {
    return (load<u8>(this.at(slot) + FLAGS) & FLAG_SPARE) != 0;
  }

  /** Raised each time the slot gets another host; part of everything recorded for the host. */
  @inline
  generation(slot: i32): u8 {
    return load<u8>(this.at(slot) + GENERATION);
  }

  /** Hash of the address, the host's identity in rendezvous hashing; 0 for a free slot. */
  @inline
  hash(slot: i32): u64 {
    return unchecked(this.hashes[slot]);
  }

  @inline
  addressPtr(slot: i32): usize {
    return this.at(slot) + ADDRESS;
  }

  @inline
  addressLen(slot: i32): i32 {
    return <i32>load<u8>(this.at(slot));
  }

  @inline
  private at(slot: i32): usize {
    return this.record.bytes + DIRECTORY_HEAD + <usize>slot * DIRECTORY_RECORD;
  }

  private take(ptr: usize, len: i32): i32 {
    let slot = 0;
    while (slot < this.count && this.sources(slot) != 0) slot++;
    if (slot >= MAX_HOSTS) return -1;
    if (slot == this.count) this.count++;
    const at = this.at(slot);
    const generation = load<u8>(at + GENERATION);
    memory.fill(at, 0, DIRECTORY_RECORD);
    store<u8>(at, <u8>len);
    store<u8>(at + GENERATION, generation + 1);
    memory.copy(at + ADDRESS, ptr, len);
    return slot;
  }

  private write(): bool {
    store<i32>(this.record.bytes + 4, this.count);
    const result = this.record.store(DIRECTORY_HEAD + this.count * DIRECTORY_RECORD);
    if (result == SharedResult.Ok) {
      this.index();
      return true;
    }
    return false;
  }

  private index(): void {
    this.version++;
    this.areNamed = false;
    for (let slot = 0; slot < this.count; slot++) {
      if (this.isNamed(slot)) this.areNamed = true;
      this.hashes[slot] =
        this.sources(slot) == 0 ? 0 : hashBytes(this.addressPtr(slot), this.addressLen(slot));
    }
  }
}
