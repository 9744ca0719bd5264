/** Tokens in one cache block. */
export const BLOCK_TOKENS = 16;

/**
 * A sequence of block ids, written as runs of consecutive ids: `[first, count, first, count, …]`.
 * An id names a block together with everything before it (a chained hash), so equal ids mean
 * equal prefixes. A document of 100,000 tokens that nobody shares is a single run.
 */
export type Runs = readonly number[];

/** Blocks in `runs`. */
export function countBlocks(runs: Runs): number {
  let blocks = 0;
  for (let i = 1; i < runs.length; i += 2) blocks += runs[i] as number;
  return blocks;
}

/** Appends `count` ids from `first` on; joins the last run where the ids go on from it. */
export function appendRun(runs: number[], first: number, count: number): void {
  if (count <= 0) return;
  const end = runs.length;
  if (end > 0 && (runs[end - 2] as number) + (runs[end - 1] as number) === first) {
    runs[end - 1] = (runs[end - 1] as number) + count;
  } else {
    runs.push(first, count);
  }
}

/** The first `blocks` ids of `runs` (all of it if it has fewer). */
export function takeBlocks(runs: Runs, blocks: number): number[] {
  const taken: number[] = [];
  let left = blocks;
  for (let i = 0; i < runs.length && left > 0; i += 2) {
    const count = Math.min(left, runs[i + 1] as number);
    appendRun(taken, runs[i] as number, count);
    left -= count;
  }
  return taken;
}

/** Blocks that `a` and `b` have in common at their start. */
export function commonBlocks(a: Runs, b: Runs): number {
  const left = new RunCursor(a);
  const right = new RunCursor(b);
  let common = 0;
  while (!left.done && !right.done && left.id === right.id) {
    const step = Math.min(left.left, right.left);
    common += step;
    left.advance(step);
    right.advance(step);
  }
  return common;
}

/** Reads runs from the front, any number of ids at a time. */
export class RunCursor {
  /** The next id; meaningless once `done`. */
  id = 0;
  /** Consecutive ids from `id` on that are left in the current run. */
  left = 0;
  private readonly runs: Runs;
  private at = -2;

  constructor(runs: Runs) {
    this.runs = runs;
    this.nextRun();
  }

  get done(): boolean {
    return this.left === 0;
  }

  /** Goes on by `count` ids, at most `left`. */
  advance(count: number): void {
    this.id += count;
    this.left -= count;
    if (this.left === 0) this.nextRun();
  }

  /** Goes on by `count` ids across runs. */
  skip(count: number): void {
    let rest = count;
    while (rest > 0 && !this.done) {
      const step = Math.min(rest, this.left);
      this.advance(step);
      rest -= step;
    }
  }

  private nextRun(): void {
    do {
      this.at += 2;
      if (this.at >= this.runs.length) {
        this.left = 0;
        return;
      }
      this.id = this.runs[this.at] as number;
      this.left = this.runs[this.at + 1] as number;
    } while (this.left === 0);
  }
}
