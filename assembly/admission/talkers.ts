/** Tenants that are followed at once. */
const FOLLOWED: i32 = 64;

/**
 * Who causes the most work, of any number of tenants, in bounded memory: the Space-Saving algorithm (Metwally, Agrawal, El
 * Abbadi 2005). A newcomer takes the place of the one with the least work and inherits that, so that whoever has more than
 * 1/FOLLOWED of all work is surely among them.
 */
export class Talkers {
  private tenants: StaticArray<u64> = new StaticArray<u64>(FOLLOWED);
  private works: StaticArray<f64> = new StaticArray<f64>(FOLLOWED);
  /** What of its work is its own for sure and wasn't taken yet, ms. */
  private owns: StaticArray<f64> = new StaticArray<f64>(FOLLOWED);
  /** Work of all since it was halved last, and of those who lost their places, ms. */
  private allMs: f64 = 0;
  private lostMs: f64 = 0;
  /** How many are followed. */
  count: i32 = 0;

  /** Work was started for a tenant. @param workMs ≥ 0 */
  note(tenant: u64, workMs: f64): void {
    this.allMs += workMs;
    let least = 0;
    for (let i = 0; i < this.count; i++) {
      if (unchecked(this.tenants[i]) == tenant) {
        unchecked((this.works[i] += workMs));
        unchecked((this.owns[i] += workMs));
        return;
      }
      if (unchecked(this.works[i]) < unchecked(this.works[least])) least = i;
    }
    let before: f64 = 0;
    if (this.count < FOLLOWED) least = this.count++;
    else {
      before = unchecked(this.works[least]);
      this.lostMs += unchecked(this.owns[least]);
    }
    unchecked((this.tenants[least] = tenant));
    unchecked((this.works[least] = before + workMs));
    unchecked((this.owns[least] = workMs));
  }

  @inline
  tenantAt(i: i32): u64 {
    return unchecked(this.tenants[i]);
  }

  /** Share of all work, at most: 0..1. */
  shareAt(i: i32): f64 {
    return this.allMs > 0 ? unchecked(this.works[i]) / this.allMs : 0;
  }

  /** Work that was noted for a tenant since this was called last, ms. */
  takeAt(i: i32): f64 {
    const ownMs = unchecked(this.owns[i]);
    unchecked((this.owns[i] = 0));
    return ownMs;
  }

  /** The same for all who lost their places. */
  takeLost(): f64 {
    const lostMs = this.lostMs;
    this.lostMs = 0;
    return lostMs;
  }

  /** Lets what was count half, so that those who come later can be seen. */
  halve(): void {
    this.allMs /= 2;
    for (let i = 0; i < this.count; i++) unchecked((this.works[i] /= 2));
  }
}
