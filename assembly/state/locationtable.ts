import { Bucket } from "./bucket";
import { HostDirectory } from "./hosts";
import { Change, ChangeSink, Journal } from "./journal";
import { BUCKET_BYTES, BUCKET_ENTRIES, BUCKET_HEAD, MAX_HOSTS, STAMP_TOKENS } from "./layout";

/** Bytes of a bucket; its head is in front, so that entries don't lie across cache lines. */
const STRIDE: u64 = 512;
const PAGE_BYTES: u64 = 65536;
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
  /** Entries that took a free place, and that took another's, since this VM started. */
  filled: u64 = 0;
  evicted: u64 = 0;

  private mask: u64;
  /** First entry of the first bucket, 0 before the table was needed. */
  private table: usize = 0;
  private bucket: Bucket = new Bucket(0);
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
    while (buckets * 2 * STRIDE <= <u64>tableBytes) buckets *= 2;
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
    const place = this.place(bucket, tag, slot);
    const isPresent = Bucket.tag(place) == tag && Bucket.slot(place) == slot;
    const known = min(length, 255);
    if (isPresent && Bucket.forks(place) == known && this.isFresh(place, slot)) {
      if (bucket.isAlone(place, tag)) return;
    }
    this.write(Change.Move, place, tag, slot, known);
  }

  /** The bucket of a tag; the object is the same for all of them. */
  protected bucketOf(tag: u64): Bucket {
    if (this.table == 0) this.open();
    const bucket = this.bucket;
    bucket.bytes = this.table + <usize>(tag & this.mask) * <usize>STRIDE;
    return bucket;
  }

  /** Takes memory for the table: fresh pages, which are zero and cost nothing before they are used. */
  private open(): void {
    const pages = <i32>(((this.mask + 1) * STRIDE + STRIDE + PAGE_BYTES - 1) / PAGE_BYTES);
    const before = memory.grow(pages);
    if (before >= 0) {
      this.table = ((<usize>before) << 16) + <usize>(STRIDE - BUCKET_HEAD);
      return;
    }
    // Without memory: one bucket, which forgets almost everything.
    this.mask = 0;
    this.table = heap.alloc(BUCKET_BYTES);
    memory.fill(this.table, 0, BUCKET_BYTES);
  }

  /** Whether what an entry says can still be true. */
  @inline
  protected isAlive(entry: usize): bool {
    const slot = Bucket.slot(entry);
    return (
      <u32>slot < <u32>MAX_HOSTS &&
      unchecked(this.generations[slot]) == <i32>Bucket.generation(entry) &&
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
  private ageTicks(entry: usize, slot: i32): u32 {
    const age = <i32>(unchecked(this.nowTicks[slot]) - Bucket.stamp(entry));
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
    const place = this.place(this.bucketOf(tag), tag, slot);
    const isPresent = Bucket.tag(place) == tag && Bucket.slot(place) == slot;
    if (isPresent && !isFork && this.isFresh(place, slot)) return;
    const forks = isPresent ? Bucket.forks(place) : 0;
    this.write(Change.Note, place, tag, slot, isFork ? min(forks + 1, 255) : forks);
  }

  /** Changes an entry, and tells so. */
  private write(kind: Change, place: usize, tag: u64, slot: i32, forks: i32): void {
    const isPresent = Bucket.tag(place) == tag && Bucket.slot(place) == slot;
    if (Bucket.tag(place) == 0) this.filled++;
    else if (!isPresent) this.evicted++;
    if (kind == Change.Move) this.bucket.clear(tag);
    const stamp = unchecked(this.nowTicks[slot]);
    const generation = this.hosts.generation(slot);
    Bucket.write(place, tag, stamp, slot, generation, forks);
    this.journal.add(kind, tag, stamp, slot, generation, forks);
  }

  protected drop(tag: u64, slot: i32): void {
    if (clearEntry(this.bucketOf(tag), tag, slot)) {
      this.journal.add(Change.Drop, tag, 0, slot, this.hosts.generation(slot), 0);
    }
  }

  /** Takes over what another worker changed. */
  apply(kind: Change, tag: u64, stamp: u32, slot: i32, generation: u8, forks: i32): void {
    if (<u32>slot >= <u32>MAX_HOSTS) return;
    const bucket = this.bucketOf(tag);
    if (kind == Change.Drop) {
      clearEntry(bucket, tag, slot);
      return;
    }
    const place = this.place(bucket, tag, slot);
    if (kind == Change.Move) {
      bucket.clear(tag);
      Bucket.write(place, tag, stamp, slot, generation, forks);
      return;
    }
    const isPresent =
      Bucket.tag(place) == tag &&
      Bucket.slot(place) == slot &&
      Bucket.generation(place) == generation;
    const isOlder = isPresent && <i32>(stamp - Bucket.stamp(place)) < 0;
    const known = isPresent ? Bucket.forks(place) : 0;
    const newest = isOlder ? Bucket.stamp(place) : stamp;
    Bucket.write(place, tag, newest, slot, generation, max(forks, known));
  }

  /** The tag's own place for this host, else a free one, else a dead host's, else the relatively oldest. */
  private place(bucket: Bucket, tag: u64, slot: i32): usize {
    let free: usize = 0;
    for (let e = 0; e < BUCKET_ENTRIES; e++) {
      const entry = bucket.entry(e);
      const there = Bucket.tag(entry);
      if (there == tag && Bucket.slot(entry) == slot) return entry;
      if (there == 0) free = entry;
    }
    if (free != 0) return free;
    let best = bucket.entry(0);
    let bestWorth: f64 = Infinity;
    for (let e = 0; e < BUCKET_ENTRIES; e++) {
      const entry = bucket.entry(e);
      const worth = this.worth(entry);
      if (worth < bestWorth) {
        bestWorth = worth;
        best = entry;
      }
    }
    return best;
  }

  /** −1 dead, else 1 − age / capacity. */
  private worth(entry: usize): f64 {
    if (!this.isAlive(entry)) return -1;
    const slot = Bucket.slot(entry);
    return 1 - this.ageTokens(entry, slot) / unchecked(this.capacity[slot]);
  }
}

/** Empties the tag's place for a host; false: it has none. */
function clearEntry(bucket: Bucket, tag: u64, slot: i32): bool {
  for (let e = 0; e < BUCKET_ENTRIES; e++) {
    const entry = bucket.entry(e);
    if (Bucket.tag(entry) != tag || Bucket.slot(entry) != slot) continue;
    Bucket.write(entry, 0, 0, 0, 0, 0);
    return true;
  }
  return false;
}
