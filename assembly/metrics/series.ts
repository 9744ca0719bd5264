import { SIGNALS, Signal } from "../config/signals";
import { FALLBACK_RANK } from "./names";

/**
 * Series whose samples are this much older than the newest one of their host are left over from a
 * server that is gone, ms. More than a usual scrape interval, since one host's engines and its GPU
 * exporter may be scraped apart.
 */
export const SAME_HOST_WINDOW_MS: f64 = 30000;

/** Series that even one host may have: many engines, many GPUs. */
const MIN_CAPACITY: i32 = 2048;

/**
 * Newest value of every series, keyed by host, signal and engine, and their totals per host.
 * Bounded: series beyond the table are counted and left out.
 */
export class SeriesTable {
  /** Series that found no room since `reset`. */
  dropped: i32 = 0;
  private capacity: i32;
  private keys: StaticArray<u64>;
  private times: StaticArray<f64>;
  private values: StaticArray<f64>;
  private hosts: StaticArray<u16>;
  private signals: StaticArray<u8>;
  private ranks: StaticArray<u8>;
  /** Slots in use, in order of arrival. */
  private used: StaticArray<i32>;
  private count: i32 = 0;
  /** Newest sample per host of its engines, then of its GPUs. */
  private newest: StaticArray<f64>;
  private totals: StaticArray<f64>;
  private parts: StaticArray<i32>;
  private ownName: StaticArray<u8>;

  constructor(private maxHosts: i32) {
    let capacity = MIN_CAPACITY;
    while (capacity < maxHosts * 32) capacity <<= 1;
    this.capacity = capacity;
    this.keys = new StaticArray<u64>(capacity);
    this.times = new StaticArray<f64>(capacity);
    this.values = new StaticArray<f64>(capacity);
    this.hosts = new StaticArray<u16>(capacity);
    this.signals = new StaticArray<u8>(capacity);
    this.ranks = new StaticArray<u8>(capacity);
    this.used = new StaticArray<i32>(capacity);
    this.newest = new StaticArray<f64>(maxHosts * 2);
    this.totals = new StaticArray<f64>(maxHosts * SIGNALS);
    this.parts = new StaticArray<i32>(maxHosts * SIGNALS);
    this.ownName = new StaticArray<u8>(maxHosts * SIGNALS);
  }

  reset(): void {
    for (let i = 0; i < this.count; i++) unchecked((this.keys[this.used[i]] = 0));
    this.count = 0;
    this.dropped = 0;
  }

  /**
   * Takes a sample of one series.
   * @param host 0..maxHosts − 1
   * @param engine hash of what tells the engines behind one host apart
   * @param value NaN: the series is there, its value is not known
   * @returns whether the sample counts (it is newer or better than what was there)
   */
  put(host: i32, signal: Signal, engine: u64, rank: i32, timeMs: f64, value: f64): bool {
    const key = keyOf(host, signal, engine);
    const mask = this.capacity - 1;
    let at = <i32>(key & <u64>mask);
    while (unchecked(this.keys[at]) != 0 && unchecked(this.keys[at]) != key) at = (at + 1) & mask;
    if (unchecked(this.keys[at]) == 0) {
      if (this.count >= this.capacity - (this.capacity >> 2)) {
        this.dropped++;
        return false;
      }
      unchecked((this.used[this.count] = at));
      this.count++;
      unchecked((this.keys[at] = key));
      unchecked((this.hosts[at] = <u16>host));
      unchecked((this.signals[at] = <u8>signal));
    } else if (!this.isBetter(at, rank, timeMs, value)) {
      return false;
    }
    unchecked((this.ranks[at] = <u8>rank));
    unchecked((this.times[at] = timeMs));
    unchecked((this.values[at] = value));
    return true;
  }

  /**
   * The newest sample of a series counts; of two names the better one, unless it is left over from
   * an earlier server; of equals (the ranks of one engine) the larger.
   */
  private isBetter(at: i32, rank: i32, timeMs: f64, value: f64): bool {
    const time = unchecked(this.times[at]);
    if (timeMs > time + SAME_HOST_WINDOW_MS) return true;
    if (timeMs < time - SAME_HOST_WINDOW_MS) return false;
    const oldRank = <i32>unchecked(this.ranks[at]);
    if (rank != oldRank) return rank < oldRank;
    if (timeMs != time) return timeMs > time;
    const old = unchecked(this.values[at]);
    return isNaN(old) || value > old;
  }

  /** Adds the series of each host up: requests, counters and sizes add, shares are means. */
  total(): void {
    memory.fill(changetype<usize>(this.totals), 0, (<usize>this.totals.length) << 3);
    memory.fill(changetype<usize>(this.parts), 0, (<usize>this.parts.length) << 2);
    memory.fill(changetype<usize>(this.ownName), 0, this.ownName.length);
    for (let i = 0; i < this.newest.length; i++) unchecked((this.newest[i] = -Infinity));
    for (let i = 0; i < this.count; i++) {
      const at = unchecked(this.used[i]);
      // Every exporter has a start time, so it doesn't tell whether the engine's samples are new.
      if (unchecked(this.signals[at]) == Signal.StartTime) continue;
      const group = this.group(at);
      const time = unchecked(this.times[at]);
      if (time > unchecked(this.newest[group])) unchecked((this.newest[group] = time));
    }
    for (let i = 0; i < this.count; i++) {
      const at = unchecked(this.used[i]);
      if (!this.isCurrent(at) || <i32>unchecked(this.ranks[at]) >= FALLBACK_RANK) continue;
      unchecked((this.ownName[this.cell(at)] = 1));
    }
    for (let i = 0; i < this.count; i++) {
      const at = unchecked(this.used[i]);
      const cell = this.cell(at);
      const value = unchecked(this.values[at]);
      if (!this.isCurrent(at) || isNaN(value)) continue;
      if (<i32>unchecked(this.ranks[at]) >= FALLBACK_RANK && unchecked(this.ownName[cell]) != 0)
        continue;
      const total = unchecked(this.totals[cell]);
      const isMax = unchecked(this.signals[at]) == Signal.StartTime;
      unchecked((this.totals[cell] = isMax ? Math.max(total, value) : total + value));
      unchecked(this.parts[cell]++);
    }
  }

  @inline
  private cell(at: i32): i32 {
    return <i32>unchecked(this.hosts[at]) * SIGNALS + <i32>unchecked(this.signals[at]);
  }

  /** A GPU exporter is scraped apart from the engines, so each has a newest sample of its own. */
  @inline
  private group(at: i32): i32 {
    const gpu = unchecked(this.signals[at]) == Signal.GpuUtilization;
    return ((<i32>unchecked(this.hosts[at])) << 1) + (gpu ? 1 : 0);
  }

  @inline
  private isCurrent(at: i32): bool {
    const newest = unchecked(this.newest[this.group(at)]);
    return unchecked(this.times[at]) >= newest - SAME_HOST_WINDOW_MS;
  }

  /** After `total`: a host's value, NaN if no engine reports it. */
  value(host: i32, signal: Signal): f64 {
    const cell = host * SIGNALS + signal;
    const parts = unchecked(this.parts[cell]);
    if (parts == 0) return NaN;
    const total = unchecked(this.totals[cell]);
    return isMean(signal) ? total / <f64>parts : total;
  }

  /** After `total`: time of the host's newest sample, −Infinity if there is none. */
  timeMs(host: i32): f64 {
    const engine = unchecked(this.newest[host << 1]);
    return isFinite(engine) ? engine : unchecked(this.newest[(host << 1) + 1]);
  }
}

function isMean(signal: Signal): bool {
  return (
    signal == Signal.KvUsage || signal == Signal.GpuUtilization || signal == Signal.BlockTokens
  );
}

/** Never 0, which marks a free slot. */
function keyOf(host: i32, signal: Signal, engine: u64): u64 {
  let key = engine ^ ((<u64>host * <u64>SIGNALS + <u64>signal + 1) * 0x9e3779b97f4a7c15);
  key = (key ^ (key >> 32)) * 0xd6e8feb86659fd93;
  key ^= key >> 32;
  return key == 0 ? 1 : key;
}
