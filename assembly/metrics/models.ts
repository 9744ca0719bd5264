/** Models and adapters remembered per host; more are left out. */
const MAX_MODELS: i32 = 32;

/** What a host said of a name. */
export const enum ModelKind {
  /** The base model that it serves. */
  Model = 1,
  /** An adapter that waits to be loaded. */
  WaitingAdapter = 2,
  /** An adapter that is loaded. */
  LoadedAdapter = 3,
}

/** Hashes of the model and adapter names that each host reported, bounded. */
export class ModelList {
  private hashes: StaticArray<u64>;
  private engines: StaticArray<u64>;
  private times: StaticArray<f64>;
  private kinds: StaticArray<u8>;
  private counts: StaticArray<i32>;

  constructor(maxHosts: i32) {
    this.hashes = new StaticArray<u64>(maxHosts * MAX_MODELS);
    this.engines = new StaticArray<u64>(maxHosts * MAX_MODELS);
    this.times = new StaticArray<f64>(maxHosts * MAX_MODELS);
    this.kinds = new StaticArray<u8>(maxHosts * MAX_MODELS);
    this.counts = new StaticArray<i32>(maxHosts);
  }

  /** Forgets a host's names. */
  clear(host: i32): void {
    unchecked((this.counts[host] = 0));
  }

  /** Forgets the adapters that one engine of a host named before. */
  clearAdapters(host: i32, engine: u64): void {
    const base = host * MAX_MODELS;
    const end = base + unchecked(this.counts[host]);
    let to = base;
    for (let i = base; i < end; i++) {
      const isModel = unchecked(this.kinds[i]) == ModelKind.Model;
      if (isModel || unchecked(this.engines[i]) != engine) this.move(i, to++);
    }
    unchecked((this.counts[host] = to - base));
  }

  /** Forgets what a host named only before a time, ms. */
  clearBefore(host: i32, timeMs: f64): void {
    const base = host * MAX_MODELS;
    const end = base + unchecked(this.counts[host]);
    let to = base;
    for (let i = base; i < end; i++) if (unchecked(this.times[i]) >= timeMs) this.move(i, to++);
    unchecked((this.counts[host] = to - base));
  }

  private move(from: i32, to: i32): void {
    unchecked((this.hashes[to] = this.hashes[from]));
    unchecked((this.engines[to] = this.engines[from]));
    unchecked((this.times[to] = this.times[from]));
    unchecked((this.kinds[to] = this.kinds[from]));
  }

  /** Adds a name, heard at a time; of what several engines say of one name the best counts. */
  add(host: i32, engine: u64, hash: u64, kind: ModelKind, timeMs: f64): void {
    const base = host * MAX_MODELS;
    const count = unchecked(this.counts[host]);
    for (let i = base; i < base + count; i++) {
      if (unchecked(this.hashes[i]) != hash) continue;
      if (unchecked(this.engines[i]) == engine || unchecked(this.kinds[i]) == ModelKind.Model) {
        if (<i32>unchecked(this.kinds[i]) < kind) unchecked((this.kinds[i] = <u8>kind));
        if (unchecked(this.times[i]) < timeMs) unchecked((this.times[i] = timeMs));
        return;
      }
    }
    if (count >= MAX_MODELS) return;
    unchecked((this.hashes[base + count] = hash));
    unchecked((this.engines[base + count] = engine));
    unchecked((this.times[base + count] = timeMs));
    unchecked((this.kinds[base + count] = <u8>kind));
    unchecked((this.counts[host] = count + 1));
  }

  count(host: i32): i32 {
    return unchecked(this.counts[host]);
  }

  hash(host: i32, i: i32): u64 {
    return unchecked(this.hashes[host * MAX_MODELS + i]);
  }

  kind(host: i32, i: i32): ModelKind {
    return <ModelKind>unchecked(this.kinds[host * MAX_MODELS + i]);
  }
}
