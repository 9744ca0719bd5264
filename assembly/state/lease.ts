import { SharedResult } from "../host/shareddata";
import { Keys } from "./keys";
import { SharedRecord } from "./record";

/** A lease not renewed for this long is free: another VM takes the work over well within 5 s. */
const LEASE_EXPIRES_MS: f64 = 2500;
/** The holder renews this often. */
const RENEW_MS: f64 = 500;
const BYTES: i32 = 24;

/**
 * The right to do what one VM should do for all (polls, gauges). Held by heartbeat in shared data; the holder that dies or
 * stands still loses it to whichever VM ticks first.
 *
 * ```
 * ┌──────────┬─────┬──────────┬────────────┐
 * │version 4 │  4  │ holder 8 │ renewed 8  │
 * └──────────┴─────┴──────────┴────────────┘
 * ```
 */
export class Lease {
  private record: SharedRecord;

  /** @param instance random number of this VM */
  constructor(
    keys: Keys,
    kind: string,
    private instance: u64,
  ) {
    this.record = new SharedRecord(keys.single(kind), BYTES);
    this.record.create();
  }

  /** Whether this VM holds the lease now; takes or renews it as needed. Call at each tick. */
  hold(nowMs: f64): bool {
    const present = this.record.load();
    const at = this.record.bytes;
    const renewed = load<f64>(at + 16);
    const own = present && load<u64>(at + 8) == this.instance;
    if (own && nowMs - renewed < RENEW_MS) return true;
    if (present && !own && nowMs - renewed < LEASE_EXPIRES_MS) return false;
    store<u64>(at + 8, this.instance);
    store<f64>(at + 16, nowMs);
    return this.record.store(BYTES) == SharedResult.Ok;
  }
}
