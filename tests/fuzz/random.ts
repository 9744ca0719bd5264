/** Moves every seed, for runs that are to see other inputs: `npm run fuzz -- --seed N`. */
const OFFSET = 1_000_003 * Number(process.env.FUZZ_SEED ?? 0);

/** Seeded random numbers (mulberry32), so that every run repeats. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = (seed + OFFSET) >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number in 0..n−1. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  /** One of `items`. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }
}
