import { random } from "../../tools/seeded.ts";

/** Moves every seed, for runs that are to see other inputs: `npm run fuzz -- --seed N`. */
const OFFSET = 1_000_003 * Number(process.env.FUZZ_SEED ?? 0);

/** Seeded random numbers, so that every run repeats. */
export class Random {
  /** A number in [0, 1). */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = random(seed + OFFSET);
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

  /** Where a text of so many bytes is cut: at most `most` places, in order. */
  cuts(length: number, most = 4): number[] {
    const cuts = Array.from({ length: this.below(most + 1) }, () => this.below(length + 1));
    return cuts.sort((a, b) => a - b);
  }
}
