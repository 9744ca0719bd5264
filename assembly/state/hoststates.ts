import { SharedResult, getShared, setShared } from "../host/shareddata";
import { outCas, outLen, outPtr } from "../host/memory";
import { Text } from "../bytes";
import { HostDirectory } from "./hosts";
import { HOST_RECORD_BYTES, HostRecord } from "./hostrecord";
import { Keys, setKeyIndex } from "./keys";
import { LAYOUT_VERSION, MAX_HOSTS } from "./layout";

/** Records copied at a tick; more hosts than this take turns, so that the price of a tick is bounded. */
const RECORDS_PER_TICK: i32 = 64;

/**
 * The host records of a namespace: local copies, refreshed at ticks, and read-change-write of single ones:
 *
 * ```ts
 * for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
 *   const record = states.open(slot);
 *   record.failures = 0;
 *   if (states.commit(slot)) break;
 * }
 * ```
 */
export class HostStates {
  private key: Text;
  private bytes: usize = heap.alloc(MAX_HOSTS * HOST_RECORD_BYTES);
  private cas: u32 = 0;
  /** By slot: how often the local copy was read afresh, be it to change it; wraps. */
  readonly changes: StaticArray<u32> = new StaticArray<u32>(MAX_HOSTS);
  /** Slot that was copied last. */
  private turn: i32 = 0;

  constructor(
    keys: Keys,
    private hosts: HostDirectory,
  ) {
    this.key = keys.indexed("host", 0);
    memory.fill(this.bytes, 0, MAX_HOSTS * HOST_RECORD_BYTES);
  }

  /** Local copy of a host's record. */
  @inline
  at(slot: i32): HostRecord {
    return changetype<HostRecord>(this.bytes + <usize>slot * HOST_RECORD_BYTES);
  }

  /** Copies the records of all known hosts, some of them where there are many: at ticks. */
  refresh(): void {
    const count = this.hosts.count;
    for (let i = min(count, RECORDS_PER_TICK); i > 0; i--) {
      this.turn = this.turn + 1 < count ? this.turn + 1 : 0;
      if (this.hosts.isKnown(this.turn)) this.open(this.turn);
    }
  }

  /** Reads a host's record afresh, as the base of a change; blank for a new generation of the slot. */
  open(slot: i32): HostRecord {
    const record = this.at(slot);
    const at = changetype<usize>(record);
    unchecked(this.changes[slot]++);
    setKeyIndex(this.key, slot);
    this.cas = 0;
    let valid = false;
    if (getShared(this.key) == SharedResult.Ok) {
      this.cas = outCas;
      valid =
        outLen == HOST_RECORD_BYTES &&
        changetype<HostRecord>(outPtr).version == LAYOUT_VERSION &&
        changetype<HostRecord>(outPtr).generation == this.hosts.generation(slot);
      if (valid) memory.copy(at, outPtr, HOST_RECORD_BYTES);
    }
    if (!valid) {
      memory.fill(at, 0, HOST_RECORD_BYTES);
      record.version = LAYOUT_VERSION;
      record.generation = this.hosts.generation(slot);
    }
    return record;
  }

  /** Writes the record back; false when another worker wrote since `open`. */
  commit(slot: i32): bool {
    setKeyIndex(this.key, slot);
    const at = changetype<usize>(this.at(slot));
    return setShared(this.key, at, HOST_RECORD_BYTES, this.cas) != SharedResult.CasMismatch;
  }
}
