/** Tenants that are told apart at once; further ones share places. */
const TENANTS_MAX: i32 = 256;

/**
 * Fair shares of tenants: start-time fair queueing over predicted work. Each tenant's clock advances by the work that was
 * started for it, and the tenant whose clock is least goes first; one that comes (back) starts at the present, so that absence
 * earns nothing. As fair as deficit round robin, without rounds.
 */
export class Shares {
  private hashes: StaticArray<u64> = new StaticArray<u64>(TENANTS_MAX);
  private clocks: StaticArray<f64> = new StaticArray<f64>(TENANTS_MAX);
  private queued: StaticArray<i32> = new StaticArray<i32>(TENANTS_MAX);
  private used: i32 = 0;
  /** Clock of the tenant that was served last. */
  private nowClock: f64 = 0;

  /** A request of a tenant waits. @returns the tenant's number */
  enter(tenant: u64): i32 {
    const share = this.find(tenant);
    if (unchecked(this.queued[share]) == 0 && unchecked(this.clocks[share]) < this.nowClock) {
      unchecked((this.clocks[share] = this.nowClock));
    }
    unchecked((this.queued[share] += 1));
    return share;
  }

  /** A request waits no more, whatever became of it. */
  leave(share: i32): void {
    if (unchecked(this.queued[share]) > 0) unchecked((this.queued[share] -= 1));
  }

  /** A request was started. */
  charge(share: i32, workMs: f64): void {
    const clock = unchecked(this.clocks[share]);
    if (clock > this.nowClock) this.nowClock = clock;
    unchecked((this.clocks[share] = clock + workMs));
  }

  /** Work that was started for a tenant, by its clock: the least goes first. */
  @inline
  clock(share: i32): f64 {
    return unchecked(this.clocks[share]);
  }

  /** Requests of a tenant's that wait. */
  @inline
  waiting(share: i32): i32 {
    return unchecked(this.queued[share]);
  }

  /** The same by its hash, whether it is known or not. */
  waitingOf(tenant: u64): i32 {
    for (let share = 0; share < this.used; share++) {
      if (unchecked(this.hashes[share]) == tenant) return unchecked(this.queued[share]);
    }
    return 0;
  }

  /** Whether a tenant has had no more than its share, and nobody waiting. */
  isOwed(tenant: u64): bool {
    for (let share = 0; share < this.used; share++) {
      if (unchecked(this.hashes[share]) != tenant) continue;
      return unchecked(this.queued[share]) == 0 && unchecked(this.clocks[share]) <= this.nowClock;
    }
    return true;
  }

  private find(tenant: u64): i32 {
    let idle = -1;
    for (let share = 0; share < this.used; share++) {
      if (unchecked(this.hashes[share]) == tenant) return share;
      // Whoever is behind the present has nothing to lose by being forgotten.
      const isIdle = unchecked(this.queued[share]) == 0;
      if (isIdle && unchecked(this.clocks[share]) <= this.nowClock) idle = share;
    }
    if (idle < 0) {
      if (this.used == TENANTS_MAX) return <i32>(tenant % <u64>TENANTS_MAX);
      idle = this.used++;
    }
    unchecked((this.hashes[idle] = tenant));
    unchecked((this.clocks[idle] = this.nowClock));
    return idle;
  }
}
