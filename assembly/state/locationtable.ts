import { Entry } from "./entry";
import { HostDirectory } from "./hosts";
import { Change, ChangeSink, Journal } from "./journal";
import { MAX_HOSTS, STAMP_TOKENS } from "./layout";
import {
  BUCKET_STRIDE,
  ENTRIES,
  entryAt,
  find,
  findFree,
  freeAll,
  freeEntry,
  isAlone,
  writeEntry,
} from "./locationbucket";

const PAGE_BYTES: u64 = 65536;
/** Entries of a full bucket that are weighed against each other: what goes is the most worthless of them. */
const WEIGHED: i32 = 8;
/** A stamp younger than this share of the host's capacity isn't worth a write. */
const FRESH_SHARE: f64 = 1.0 / 64.0;

/**
 * Which tag is at which host: a set-associative table in each worker's memory, kept alike by journals (journal.ts). An
 * entry says that the prefix with this chain id was inserted into (or used from) a host's cache when the host's token clock
 * stood at `stamp`; a server that evicts least recently used blocks has dropped it when about one cache capacity of tokens
 * came in since. So an entry is alive while clock − stamp < capacity: no timers, no lists, and memory is fixed.
 */
export class LocationTable extends ChangeSink {
  /** Token clock and cache capacity by slot, set by the caller before `match` and `record`. */
  readonly clock: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly capacity: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** Entries of this worker that took a free place, and that took a live one's, since they were counted last. */
  filled: i64 = 0;
  evicted: i64 = 0;

  private mask: u64;
  /** First bucket, 0 before the table was needed. */
  private table: usize = 0;
  // By slot, as of `setClock`: the clock in ticks, the ticks for which an entry is alive, the generation (−1: no host).
  private nowTicks: StaticArray<u32> = new StaticArray<u32>(MAX_HOSTS);
  private liveTicks: StaticArray<u32> = new StaticArray<u32>(MAX_HOSTS);
  private generations: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);

  /**
   * @param journal tells the other workers
   * @param tableBytes bound of the table, rounded down to a power of two of buckets
   */
  constructor(
    protected hosts: HostDirectory,
    private journal: Journal,
    tableBytes: i32,
  ) {
    super();
    let buckets: u64 = 64;
    while (buckets * 2 * BUCKET_STRIDE <= <u64>tableBytes) buckets *= 2;
    this.mask = buckets - 1;
    this.generations.fill(-1);
  }

  /** Whether there is anything in the table. */
  get isUsed(): bool {
    return this.table != 0;
  }

  /** Sets by what a host's entries are told alive: before `find`, `match` and `record`. */
  setClock(slot: i32, clockTokens: f64, capacityTokens: f64): void {
    unchecked((this.clock[slot] = clockTokens));
    unchecked((this.capacity[slot] = capacityTokens));
    unchecked((this.nowTicks[slot] = <u32>(<u64>(clockTokens / STAMP_TOKENS))));
    const live = Math.min(Math.ceil(capacityTokens / STAMP_TOKENS), <f64>i32.MAX_VALUE);
    unchecked((this.liveTicks[slot] = <u32>live));
    const generation = this.hosts.isKnown(slot) ? <i32>this.hosts.generation(slot) : -1;
    unchecked((this.generations[slot] = generation));
  }

  /** Notes that a conversation is at a host now, and nowhere else. @param length of its chain; 255 stands for any longer one */
  move(tag: u64, slot: i32, length: i32): void {
    const bucket = this.bucketOf(tag);
    const e = find(bucket, tag, slot);
    const known = min(length, 255);
    if (e >= 0) {
      const entry = entryAt(bucket, e);
      const isSame = Entry.forks(entry) == known && isAlone(bucket, tag, e);
      if (isSame && this.isFresh(entry, slot)) return;
    }
    this.write(Change.Move, bucket, e, tag, slot, known);
  }

  /** Buckets of the table. */
  get buckets(): u32 {
    return <u32>(this.mask + 1);
  }

  /** A bucket by its number, 0 ≤ number < buckets; 0 while there is no table. */
  bucketAt(number: u32): usize {
    return this.table == 0 ? 0 : this.table + <usize>number * BUCKET_STRIDE;
  }

  /**
   * Notes what another gateway has known for so many ticks, unless it is known here; what is alive doesn't give way to it.
   * Other workers aren't told: each asks for itself.
   * @param isCounted whether it counts as an entry of this Envoy's
   */
  adopt(tag: u64, slot: i32, ageTicks: u32, forks: i32, isCounted: bool): void {
    const bucket = this.bucketOf(tag);
    if (find(bucket, tag, slot) >= 0) return;
    let place = findFree(bucket);
    if (place < 0) {
      place = this.leastWorth(bucket, tag);
      if (this.isAlive(entryAt(bucket, place))) return;
    } else if (isCounted) {
      this.filled++;
    }
    const stamp = unchecked(this.nowTicks[slot]) - ageTicks;
    writeEntry(bucket, place, tag, stamp, slot, this.hosts.generation(slot), forks);
  }

  /** The bucket of a tag. */
  protected bucketOf(tag: u64): usize {
    if (this.table == 0) this.open();
    return this.table + <usize>(tag & this.mask) * BUCKET_STRIDE;
  }

  /** Loads the head of a tag's bucket. */
  @inline
  protected touch(tag: u64): u32 {
    return load<u32>(this.bucketOf(tag));
  }

  /** Takes memory for the table: fresh pages, which are zero and cost nothing before they are used. */
  private open(): void {
    const pages = <i32>(((this.mask + 1) * BUCKET_STRIDE + PAGE_BYTES - 1) / PAGE_BYTES);
    const before = memory.grow(pages);
    if (before >= 0) {
      this.table = (<usize>before) << 16;
      return;
    }
    // Without memory: one bucket, which forgets almost everything.
    this.mask = 0;
    this.table = heap.alloc(BUCKET_STRIDE);
    memory.fill(this.table, 0, BUCKET_STRIDE);
  }

  /** Whether what an entry says can still be true. */
  @inline
  isAlive(entry: usize): bool {
    const slot = Entry.slot(entry);
    return (
      <u32>slot < <u32>MAX_HOSTS &&
      unchecked(this.generations[slot]) == <i32>Entry.generation(entry) &&
      this.ageTicks(entry, slot) < unchecked(this.liveTicks[slot])
    );
  }

  /** Whether a stamp is so young that renewing it isn't worth a change. */
  private isFresh(entry: usize, slot: i32): bool {
    const age = this.ageTokens(entry, slot);
    return this.isAlive(entry) && age < unchecked(this.capacity[slot]) * FRESH_SHARE;
  }

  /** Ticks of the entry's host since it was stamped; the 32-bit stamp wraps, the difference does not. */
  @inline
  ageTicks(entry: usize, slot: i32): u32 {
    const age = <i32>(unchecked(this.nowTicks[slot]) - Entry.stamp(entry));
    return <u32>max(age, 0);
  }

  /** Tokens inserted at the entry's host since it was stamped. */
  @inline
  protected ageTokens(entry: usize, slot: i32): f64 {
    return <f64>this.ageTicks(entry, slot) * STAMP_TOKENS;
  }

  /**
   * Stamps a tag for a host with the host's clock, taking the most worthless place if it has none.
   * @param isFork counts one more fork
   */
  protected put(tag: u64, slot: i32, isFork: bool): void {
    const bucket = this.bucketOf(tag);
    const e = find(bucket, tag, slot);
    let forks = 0;
    if (e >= 0) {
      const entry = entryAt(bucket, e);
      if (!isFork && this.isFresh(entry, slot)) return;
      forks = Entry.forks(entry);
    }
    this.write(Change.Note, bucket, e, tag, slot, isFork ? min(forks + 1, 255) : forks);
  }

  /** Changes an entry (`e` −1: one that is new), and tells so. */
  private write(kind: Change, bucket: usize, e: i32, tag: u64, slot: i32, forks: i32): void {
    let place = e;
    if (kind == Change.Move) freeAll(bucket, tag);
    if (place < 0) {
      place = findFree(bucket);
      if (place >= 0) this.filled++;
      else {
        place = this.leastWorth(bucket, tag);
        if (this.isAlive(entryAt(bucket, place))) this.evicted++;
      }
    }
    const stamp = unchecked(this.nowTicks[slot]);
    const generation = this.hosts.generation(slot);
    writeEntry(bucket, place, tag, stamp, slot, generation, forks);
    this.journal.add(kind, tag, stamp, slot, generation, forks);
  }

  protected drop(tag: u64, slot: i32): void {
    const bucket = this.bucketOf(tag);
    const e = find(bucket, tag, slot);
    if (e < 0) return;
    freeEntry(bucket, e);
    this.journal.add(Change.Drop, tag, 0, slot, this.hosts.generation(slot), 0);
  }

  /** Takes over what another worker changed. */
  apply(kind: Change, tag: u64, stamp: u32, slot: i32, generation: u8, forks: i32): void {
    if (<u32>slot >= <u32>MAX_HOSTS) return;
    const bucket = this.bucketOf(tag);
    let e = find(bucket, tag, slot);
    if (kind == Change.Drop) {
      if (e >= 0) freeEntry(bucket, e);
      return;
    }
    let newest = stamp;
    let most = forks;
    if (kind == Change.Move) freeAll(bucket, tag);
    else if (e >= 0 && Entry.generation(entryAt(bucket, e)) == generation) {
      const known = entryAt(bucket, e);
      if (<i32>(stamp - Entry.stamp(known)) < 0) newest = Entry.stamp(known);
      most = max(forks, Entry.forks(known));
    }
    if (e < 0) e = findFree(bucket);
    if (e < 0) e = this.leastWorth(bucket, tag);
    writeEntry(bucket, e, tag, newest, slot, generation, most);
  }

  /** Of some entries of a full bucket, told by the tag, the one that is dead or relatively oldest. */
  private leastWorth(bucket: usize, tag: u64): i32 {
    let e = <i32>((tag >>> 32) & 31);
    let least = 0;
    let leastWorth: f64 = Infinity;
    for (let i = 0; i < WEIGHED; i++) {
      if (++e >= ENTRIES) e = 0;
      const worth = this.worth(entryAt(bucket, e));
      if (worth < leastWorth) {
        leastWorth = worth;
        least = e;
      }
    }
    return least;
  }

  /** −1 dead, else 1 − age / capacity. */
  private worth(entry: usize): f64 {
    if (!this.isAlive(entry)) return -1;
    const slot = Entry.slot(entry);
    return 1 - this.ageTokens(entry, slot) / unchecked(this.capacity[slot]);
  }
}
