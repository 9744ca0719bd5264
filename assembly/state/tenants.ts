import { Keys } from "./keys";
import { CAS_ATTEMPTS } from "./layout";
import { SharedRecord, noteCasGaveUp } from "./record";
import { SharedResult } from "../host/shareddata";

/** Tenants with statistics of their own; all others are counted together. */
export const NAMED_TENANTS: i32 = 32;

const COUNT: usize = 4;
const HEAD: i32 = 8;

/**
 * The tenants that have statistics of their own, as all workers know them: statistics can't be taken back, so a place is kept
 * for as long as Envoy runs.
 *
 * ```
 * ┌──────────┬────────┐ ┌──────┐
 * │version 4 │count 4 │ │hash 8│ …
 * └──────────┴────────┘ └──────┘
 * ```
 */
export class NamedTenants {
  private record: SharedRecord;

  constructor(keys: Keys) {
    this.record = new SharedRecord(keys.single("tenants"), HEAD + NAMED_TENANTS * 8);
    this.record.create();
  }

  /** Copies the shared list. */
  refresh(): void {
    if (this.count < NAMED_TENANTS) this.record.load();
  }

  get count(): i32 {
    return min(load<i32>(this.record.bytes + COUNT), NAMED_TENANTS);
  }

  @inline
  at(i: i32): u64 {
    return load<u64>(this.record.bytes + HEAD + ((<usize>i) << 3));
  }

  /** Place of a tenant in the list, −1 for none. */
  find(tenant: u64): i32 {
    for (let i = 0, n = this.count; i < n; i++) {
      if (this.at(i) == tenant) return i;
    }
    return -1;
  }

  /** Gives a tenant a place while there are any; what other workers did at the same time counts. */
  add(tenant: u64): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      this.record.load();
      const count = this.count;
      if (count == NAMED_TENANTS || this.find(tenant) >= 0) return;
      const bytes = this.record.bytes;
      store<u64>(bytes + HEAD + ((<usize>count) << 3), tenant);
      store<i32>(bytes + COUNT, count + 1);
      if (this.record.store(HEAD + (count + 1) * 8) == SharedResult.Ok) return;
    }
    noteCasGaveUp();
  }
}
