import { Talkers } from "../../admission/talkers";
import { Counter } from "../../host/stats";
import { NAMED_TENANTS } from "../../state/tenants";
import { Core } from "../core";

/** Work by tenant is judged this often, ms; half of it is forgotten each time. */
const JUDGED_MS: f64 = 5000;
/** A tenant with this share of all work gets statistics of its own. */
const TELLING_SHARE: f64 = 1.0 / 32;

/**
 * Work by tenant, in `tenant_work_ms_total{tenant}`: for the first NAMED_TENANTS that ever had a telling share of it each its
 * own, under the hash of its name; the rest together as `other`. Counted when a request is sent to a server, by prediction.
 */
export class Tenants {
  private talkers: Talkers = new Talkers();
  private counters: StaticArray<Counter | null> = new StaticArray<Counter | null>(NAMED_TENANTS);
  /** By place: work not yet counted, ms. */
  private pendingMs: StaticArray<f64> = new StaticArray<f64>(NAMED_TENANTS);
  private othersMs: f64 = 0;
  private judgedMs: f64 = 0;

  constructor(private core: Core) {}

  /** A request is sent. @param tenant its hash, 0 for none */
  note(tenant: u64, workMs: f64): void {
    if (tenant == 0 || !(workMs > 0)) return;
    const place = this.core.fleet.tenants.find(tenant);
    if (place >= 0) unchecked((this.pendingMs[place] += workMs));
    else this.talkers.note(tenant, workMs);
  }

  tick(nowMs: f64): void {
    this.core.fleet.tenants.refresh();
    if (Math.abs(nowMs - this.judgedMs) >= JUDGED_MS) {
      this.judgedMs = nowMs;
      this.judge();
    }
    for (let i = 0; i < NAMED_TENANTS; i++) {
      const whole = Math.floor(unchecked(this.pendingMs[i]));
      if (whole < 1) continue;
      unchecked((this.pendingMs[i] -= whole));
      this.counter(i).add(<i64>whole);
    }
  }

  /** Work that was counted for the tenant in a place of the list, over all workers, ms. */
  workOf(place: i32): u64 {
    return this.counter(place).get();
  }

  private judge(): void {
    const talkers = this.talkers;
    const named = this.core.fleet.tenants;
    for (let i = 0; i < talkers.count; i++) {
      const tenant = talkers.tenantAt(i);
      const ownMs = talkers.takeAt(i);
      if (ownMs > 0 && named.find(tenant) < 0 && talkers.shareAt(i) >= TELLING_SHARE) {
        named.add(tenant);
      }
      const place = named.find(tenant);
      if (place >= 0) unchecked((this.pendingMs[place] += ownMs));
      else this.othersMs += ownMs;
    }
    this.othersMs += talkers.takeLost();
    const whole = Math.floor(this.othersMs);
    this.othersMs -= whole;
    if (whole > 0) this.core.stats.otherTenants.add(<i64>whole);
    talkers.halve();
  }

  private counter(place: i32): Counter {
    let counter = this.counters[place];
    if (!counter) {
      const name = tenantName(this.core.fleet.tenants.at(place));
      counter = Counter.zero("warmroute.tenant_work_ms_total.tenant." + name);
      this.counters[place] = counter;
    }
    return counter;
  }
}

/** How a tenant is called: 16 hex digits, the hash of its name. */
export function tenantName(tenant: u64): string {
  return tenant.toString(16).padStart(16, "0");
}
