import { Candidates } from "../../policy/candidates";
import { HostDirectory } from "../../state/hosts";

/** So many 404s in a row from a host for a model at a path, and it is taken not to serve that … */
const REFUSALS: i32 = 3;
/** … for this long after the last, ms: adapters are loaded, models pulled. */
const ABSENT_MS: f64 = 10000;
/** Pairs of host and model that are remembered; the oldest makes way. */
const ENTRIES: i32 = 32;

/**
 * Hosts that answer 404 for a model at a path: an adapter that isn't loaded there, a model that isn't pulled, or an older
 * server. Such answers come at once, so the host looks like the least loaded. While a host that isn't known to answer so can be
 * used, it comes last; where all do it is the request that is wrong, and nothing changes. What one worker saw.
 */
export class Absent {
  /** Host, its generation, and hash of model and path. */
  private slots: StaticArray<i32> = new StaticArray<i32>(ENTRIES);
  private generations: StaticArray<u8> = new StaticArray<u8>(ENTRIES);
  private whats: StaticArray<u64> = new StaticArray<u64>(ENTRIES);
  private counts: StaticArray<i32> = new StaticArray<i32>(ENTRIES);
  private lastMs: StaticArray<f64> = new StaticArray<f64>(ENTRIES);
  /** Entries in use. */
  private count: i32 = 0;

  constructor(private hosts: HostDirectory) {}

  /** A host answered 404. @param what hash of the request's model and path */
  refused(slot: i32, what: u64, nowMs: f64): void {
    let at = this.find(slot, what);
    if (at < 0) {
      at = this.count < ENTRIES ? this.count++ : this.oldest();
      unchecked((this.slots[at] = slot));
      unchecked((this.generations[at] = this.hosts.generation(slot)));
      unchecked((this.whats[at] = what));
      unchecked((this.counts[at] = 0));
    }
    unchecked(this.counts[at]++);
    unchecked((this.lastMs[at] = nowMs));
  }

  /** A host served the model there. */
  served(slot: i32, what: u64): void {
    const at = this.find(slot, what);
    if (at < 0) return;
    const last = --this.count;
    unchecked((this.slots[at] = this.slots[last]));
    unchecked((this.generations[at] = this.generations[last]));
    unchecked((this.whats[at] = this.whats[last]));
    unchecked((this.counts[at] = this.counts[last]));
    unchecked((this.lastMs[at] = this.lastMs[last]));
  }

  /** Puts hosts that don't serve it behind those that may. @param usable how many hosts can be used */
  apply(c: Candidates, usable: i32, what: u64, nowMs: f64): void {
    let absent = 0;
    for (let i = 0; i < this.count; i++) if (this.isKept(c, i, what, nowMs)) absent++;
    if (absent == 0 || absent >= usable) return;
    for (let i = 0; i < this.count; i++) {
      if (this.isKept(c, i, what, nowMs)) c.putLast(unchecked(this.slots[i]));
    }
  }

  /** Whether an entry keeps a usable host from such a request. */
  private isKept(c: Candidates, i: i32, what: u64, nowMs: f64): bool {
    if (unchecked(this.whats[i]) != what || unchecked(this.counts[i]) < REFUSALS) return false;
    const slot = unchecked(this.slots[i]);
    if (slot >= c.count || !unchecked(c.usable[slot])) return false;
    if (unchecked(this.generations[i]) != this.hosts.generation(slot)) return false;
    return Math.abs(nowMs - unchecked(this.lastMs[i])) < ABSENT_MS;
  }

  private find(slot: i32, what: u64): i32 {
    const generation = this.hosts.generation(slot);
    for (let i = 0; i < this.count; i++) {
      const isHost =
        unchecked(this.slots[i]) == slot && unchecked(this.generations[i]) == generation;
      if (isHost && unchecked(this.whats[i]) == what) return i;
    }
    return -1;
  }

  private oldest(): i32 {
    let at = 0;
    for (let i = 1; i < ENTRIES; i++) {
      if (unchecked(this.lastMs[i]) < unchecked(this.lastMs[at])) at = i;
    }
    return at;
  }
}
