import { Entry } from "./entry";
import { HostDirectory } from "./hosts";
import { Journal } from "./journal";
import { MAX_HOSTS } from "./layout";
import { candidates, entryAt } from "./locationbucket";
import { LocationTable } from "./locationtable";

/** Deepest boundaries that are tried one by one before bisection: a next turn adds two to four. */
const TAIL_PROBES: i32 = 5;
/** Most buckets read for one request. */
const PROBE_BUDGET: i32 = 24;
/**
 * Boundaries up to this depth are all recorded; beyond it one in eight, and the last eight of each request. Which ones is
 * told by the id itself, so that every request with the same prefix agrees.
 */
const DENSE: i32 = 64;
const TAIL: i32 = 8;
/** Buckets that are loaded at once. */
const FETCHED: i32 = 16;

/** Which host holds which prefix of a prompt, in a table that all workers keep alike (locationtable.ts). */
@final
export class Locations extends LocationTable {
  /** By slot: deepest chain index alive there after `match`, −1 for none. */
  readonly depth: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  /** Slots for which that isn't −1, in any order: holders[0 … holderCount − 1]. */
  readonly holders: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  holderCount: i32 = 0;
  /** By slot: age of that boundary there, as a share of the host's capacity. */
  readonly age: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** Deepest index alive anywhere after `match`, −1 for none. */
  deepest: i32 = -1;
  /** Conversations that left the deepest common prefix by different ways: how often it was shared. */
  forks: i32 = 0;
  /** Length of the chain that was noted with the conversation that `find` found. */
  foundLength: i32 = 0;

  /** Shallowest boundary known to be known by nobody but `highCount` hosts, while matching. */
  private high: i32 = 0;
  private highCount: i32 = 0;
  private probes: i32 = 0;
  /** Keeps the loads of `fetch` from being left out. */
  private fetched: u32 = 0;

  constructor(hosts: HostDirectory, journal: Journal, tableBytes: i32) {
    super(hosts, journal, tableBytes);
    this.depth.fill(-1);
  }

  /**
   * Loads what will be looked at of a chain's end, all at once: the table is far larger than the processor's caches, and one
   * miss after the other would take as many times as long.
   */
  fetch(ids: StaticArray<u64>, length: i32): void {
    let sum: u32 = 0;
    for (let i = max(0, length - TAIL); i < length; i++) sum += this.touch(unchecked(ids[i]));
    if (length > TAIL) sum += this.touch(unchecked(ids[0]));
    this.fetched = sum;
  }

  /**
   * Finds the deepest boundary of the chain that is alive anywhere, and the hosts that have it.
   * @param guess index at which the conversation's last request ended, −1 if the conversation isn't known
   */
  match(ids: StaticArray<u64>, length: i32, guess: i32): void {
    this.begin();
    this.high = length;
    this.highCount = 0;
    if (length == 0) return;
    if (guess < 0) {
      // Nothing but a prefix shared with other conversations can be known.
      this.matchRest(ids);
      return;
    }
    if (guess < length && this.probeHigh(ids, guess)) return;
    const tail = max(0, length - TAIL_PROBES);
    for (let i = length - 1; i >= tail; i--) if (i != guess && this.probeHigh(ids, i)) return;
  }

  /** After `match`: finds how much of the chain the other hosts have. */
  matchRest(ids: StaticArray<u64>): void {
    if (this.high == 0) return;
    const lowCount = this.probe(unchecked(ids[0]), 0);
    this.bisect(ids, 0, lowCount, this.high, this.highCount);
  }

  /**
   * Host of a conversation: its slot if alive, else −1; `foundLength` is then the length of the chain that was noted with it.
   */
  find(tag: u64): i32 {
    const bucket = this.bucketOf(tag);
    for (let left = candidates(bucket, tag); left != 0; left &= left - 1) {
      const entry = entryAt(bucket, ctz(left));
      if (Entry.tag(entry) == tag && this.isAlive(entry)) {
        this.foundLength = Entry.forks(entry);
        return Entry.slot(entry);
      }
    }
    return -1;
  }

  /**
   * Notes that a request with this chain goes to a host: inserts what is new there, renews what was found.
   * @param known deepest boundary that the host was known to have, −1 for none
   * @param isNew the conversation wasn't known: it leaves the deepest common prefix by a way of its own
   * @param random any number: whether and which ancestors are renewed
   */
  record(
    ids: StaticArray<u64>,
    length: i32,
    slot: i32,
    known: i32,
    isNew: bool,
    random: u32,
  ): void {
    for (let from = known + 1; from < length; from += FETCHED) {
      const to = min(from + FETCHED, length);
      // What `fetch` has loaded, or so many buckets as can be on their way at once.
      if (to < length - TAIL) this.fetchRange(ids, from, to, length);
      for (let i = from; i < to; i++) {
        if (isRecorded(ids, i, length)) this.put(unchecked(ids[i]), slot, false);
      }
    }
    if (known < 0) return;
    const fork = isNew && this.isFork(known, length);
    this.put(unchecked(ids[known]), slot, fork);
    // Ancestors are used as well; they age slowly, so now and then is enough.
    if (known == 0 || (random & 3) != 0) return;
    this.put(unchecked(ids[0]), slot, false);
    const renewed = milestoneBelow(ids, <i32>((random >>> 2) % <u32>known), 0);
    if (renewed > 0) this.put(unchecked(ids[renewed]), slot, false);
  }

  private fetchRange(ids: StaticArray<u64>, from: i32, to: i32, length: i32): void {
    let sum: u32 = 0;
    for (let i = from; i < to; i++) {
      if (isRecorded(ids, i, length)) sum += this.touch(unchecked(ids[i]));
    }
    this.fetched = sum;
  }

  /** Whether a new conversation that is known up to this boundary leaves others there. */
  isFork(known: i32, length: i32): bool {
    return known >= 0 && known == this.deepest && known < length - 1;
  }

  /** Token clock of a host when a boundary was used last there, NaN if it isn't known to be there. */
  stampOf(id: u64, slot: i32): f64 {
    const bucket = this.bucketOf(id);
    for (let left = candidates(bucket, id); left != 0; left &= left - 1) {
      const entry = entryAt(bucket, ctz(left));
      if (Entry.tag(entry) == id && Entry.slot(entry) == slot && this.isAlive(entry)) {
        return unchecked(this.clock[slot]) - this.ageTokens(entry, slot);
      }
    }
    return NaN;
  }

  /** Notes one boundary that another gateway recorded for a host. @param isFork a conversation left others there */
  learn(id: u64, slot: i32, isFork: bool): void {
    this.put(id, slot, isFork);
  }

  /** Takes back what `record` noted for a host that did not serve the request after all. */
  forget(ids: StaticArray<u64>, length: i32, slot: i32): void {
    for (let i = max(0, length - TAIL); i < length; i++) this.drop(unchecked(ids[i]), slot);
  }

  /** Probes a candidate for the deepest boundary. */
  private probeHigh(ids: StaticArray<u64>, i: i32): bool {
    this.high = i;
    this.highCount = this.probe(unchecked(ids[i]), i);
    return this.highCount > 0;
  }

  private begin(): void {
    this.probes = 0;
    this.deepest = -1;
    this.forks = 0;
    for (let i = 0; i < this.holderCount; i++) unchecked((this.depth[this.holders[i]] = -1));
    this.holderCount = 0;
  }

  /**
   * Fills in the hosts that know less than the deepest. What is alive at a boundary is alive at every shallower one, so two
   * boundaries known to as many hosts are known to the same hosts, and nothing between them needs reading.
   */
  private bisect(ids: StaticArray<u64>, low: i32, lowCount: i32, high: i32, highCount: i32): void {
    if (high - low <= 1 || lowCount == highCount || this.probes >= PROBE_BUDGET) return;
    const middle = milestoneBelow(ids, (low + high) >>> 1, low);
    const count = this.probe(unchecked(ids[middle]), middle);
    this.bisect(ids, middle, count, high, highCount);
    this.bisect(ids, low, lowCount, middle, count);
  }

  /** Notes the hosts at which a boundary is alive; returns how many. */
  private probe(tag: u64, index: i32): i32 {
    this.probes++;
    const bucket = this.bucketOf(tag);
    let found = 0;
    let forks = 0;
    for (let left = candidates(bucket, tag); left != 0; left &= left - 1) {
      const entry = entryAt(bucket, ctz(left));
      if (Entry.tag(entry) != tag || !this.isAlive(entry)) continue;
      const slot = Entry.slot(entry);
      const depth = unchecked(this.depth[slot]);
      if (depth < 0) unchecked((this.holders[this.holderCount++] = slot));
      if (index > depth) {
        unchecked((this.depth[slot] = index));
        unchecked((this.age[slot] = this.ageTokens(entry, slot) / unchecked(this.capacity[slot])));
      }
      forks += Entry.forks(entry);
      found++;
    }
    if (found > 0 && index > this.deepest) {
      this.deepest = index;
      this.forks = forks;
    }
    return found;
  }
}

/** Whether `record` notes a boundary that is new at a host. */
@inline
export function isRecorded(ids: StaticArray<u64>, i: i32, length: i32): bool {
  return i >= length - TAIL || isMilestone(ids, i);
}

/** Whether a boundary is recorded wherever it stands in a chain. */
@inline
function isMilestone(ids: StaticArray<u64>, i: i32): bool {
  return i < DENSE || ((unchecked(ids[i]) >>> 56) & 7) == 0;
}

/** An ancestor of the boundary `known` > 0 that is recorded too, told by a random number; 0: the first. */
export function ancestorOf(ids: StaticArray<u64>, known: i32, random: u32): i32 {
  const at = milestoneBelow(ids, <i32>(random % <u32>known), 0);
  return isMilestone(ids, at) ? at : 0;
}

/** The nearest milestone at or below `i` and above `low`; `i` itself if there is none. */
function milestoneBelow(ids: StaticArray<u64>, i: i32, low: i32): i32 {
  for (let at = i; at > low; at--) if (isMilestone(ids, at)) return at;
  return i;
}
