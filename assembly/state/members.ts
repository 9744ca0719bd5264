import { ClustersReader } from "../discovery/admin";
import { ADDRESS_BYTES, MAX_PEERS } from "./layout";
import { Keys } from "./keys";
import { SharedRecord } from "./record";

const VERSION: usize = 4;
const COUNT: usize = 8;
const HEAD: i32 = 16;
const ITEM: i32 = 8 + ADDRESS_BYTES;

/**
 * The gateways' addresses as discovery found them, for all workers. Written by the one that polls.
 *
 * ```
 * ┌──────────┬────────┬───────┬───┐ ┌─────┬───┬──────────┐
 * │version 4 │change 4│count 4│ 4 │ │len 1│ 7 │address 48│ …
 * └──────────┴────────┴───────┴───┘ └─────┴───┴──────────┘
 * ```
 */
export class MemberList {
  private record: SharedRecord;
  private names: usize = heap.alloc(MAX_PEERS * ITEM);
  private named: i32 = 0;

  constructor(keys: Keys) {
    this.record = new SharedRecord(keys.single("members"), HEAD + MAX_PEERS * ITEM);
    this.record.create();
  }

  /** Copies the shared list. False: there is none. */
  refresh(): bool {
    return this.record.load();
  }

  /** Raised whenever the list changes. */
  get version(): u32 {
    return load<u32>(this.record.bytes + VERSION);
  }

  get count(): i32 {
    return min(load<i32>(this.record.bytes + COUNT), MAX_PEERS);
  }

  addressPtr(i: i32): usize {
    return this.item(this.record.bytes + HEAD, i) + 8;
  }

  addressLen(i: i32): i32 {
    return min(<i32>load<u8>(this.item(this.record.bytes + HEAD, i)), ADDRESS_BYTES);
  }

  /** Publishes a cluster's members, if they aren't known already. */
  take(cluster: ClustersReader): void {
    this.named = 0;
    for (let i = 0; i < cluster.count; i++) {
      this.name(cluster.addressPtr(i), cluster.addressLen(i));
    }
    this.publish();
  }

  /** Adds a member; what is too long or beyond MAX_PEERS is left out. */
  private name(ptr: usize, len: i32): void {
    if (this.named >= MAX_PEERS || len <= 0 || len > ADDRESS_BYTES) return;
    const at = this.item(this.names, this.named++);
    memory.fill(at, 0, ITEM);
    store<u8>(at, <u8>len);
    memory.copy(at + 8, ptr, len);
  }

  private publish(): void {
    this.refresh();
    const bytes = this.record.bytes;
    const size = this.named * ITEM;
    const isSame =
      this.record.size > 0 &&
      this.count == this.named &&
      memory.compare(bytes + HEAD, this.names, size) == 0;
    if (isSame) return;
    memory.copy(bytes + HEAD, this.names, size);
    store<i32>(bytes + COUNT, this.named);
    store<u32>(bytes + VERSION, this.version + 1);
    this.record.store(HEAD + size);
  }

  @inline
  private item(from: usize, i: i32): usize {
    return from + <usize>(i * ITEM);
  }
}
