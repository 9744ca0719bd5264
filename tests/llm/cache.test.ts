import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { random } from "../../tools/seeded.ts";
import { PrefixCache } from "./cache.ts";
import { RunCursor, type Runs } from "./runs.ts";

/** Puts `runs` into the cache as a request would that computes all it misses; returns its hits. */
function visit(cache: PrefixCache, runs: Runs, blocks: number): number {
  const hold = cache.acquire(runs, blocks);
  assert.ok(cache.reserve(blocks - hold.blocks));
  const cursor = new RunCursor(runs);
  cursor.skip(hold.blocks);
  cache.release(cache.insert(hold.node, cursor, blocks - hold.blocks));
  return hold.blocks;
}

describe("prefix cache", () => {
  it("finds the longest cached start", () => {
    const cache = new PrefixCache(100);
    assert.equal(visit(cache, [0, 10], 10), 0);
    assert.equal(visit(cache, [0, 10], 10), 10);
    assert.equal(visit(cache, [0, 4, 50, 6], 10), 4);
    assert.equal(visit(cache, [0, 4, 50, 6], 10), 10);
    assert.equal(visit(cache, [0, 12], 12), 10);
    assert.equal(cache.peek([0, 4, 50, 3, 90, 2], 9), 7);
    assert.equal(cache.treeBlocks, 18);
    assert.equal(cache.evictableBlocks, 18);
    assert.equal(cache.privateBlocks, 0);
  });

  it("evicts the least recently released, of one request its deepest blocks first", () => {
    const cache = new PrefixCache(20);
    visit(cache, [0, 10], 10);
    visit(cache, [100, 10], 10);
    assert.equal(visit(cache, [200, 4], 4), 0);
    assert.equal(cache.peek([0, 10], 10), 6);
    assert.equal(cache.peek([100, 10], 10), 10);
    visit(cache, [0, 6], 6);
    visit(cache, [300, 8], 8);
    assert.equal(cache.peek([100, 10], 10), 2);
    assert.equal(cache.peek([0, 6], 6), 6);
    assert.equal(cache.peek([200, 4], 4), 4);
  });

  it("never evicts what is held, and refuses what does not fit", () => {
    const cache = new PrefixCache(10);
    visit(cache, [0, 6], 6);
    const hold = cache.acquire([0, 6], 6);
    assert.equal(cache.reserve(5), false);
    assert.ok(cache.reserve(4));
    assert.equal(cache.usage, 1);
    cache.release(hold.node);
    cache.free(4);
    assert.equal(cache.usage, 0);
    assert.ok(cache.reserve(10));
    assert.equal(cache.peek([0, 6], 6), 0);
  });

  it("shares blocks that two requests computed at the same time", () => {
    const cache = new PrefixCache(100);
    const first = cache.acquire([0, 5], 5);
    const second = cache.acquire([0, 5], 5);
    assert.ok(cache.reserve(5) && cache.reserve(5));
    const a = cache.insert(first.node, new RunCursor([0, 5]), 5);
    const b = cache.insert(second.node, new RunCursor([0, 5]), 5);
    assert.equal(cache.treeBlocks, 5);
    assert.equal(cache.privateBlocks, 0);
    cache.release(a);
    assert.equal(cache.evictableBlocks, 0);
    cache.release(b);
    assert.equal(cache.evictableBlocks, 5);
  });

  it("agrees with a plain list of blocks on random traffic", () => {
    const cache = new PrefixCache(300);
    const plain = new PlainCache(300);
    const next = random(7);
    const below = (n: number): number => Math.floor(next() * n);
    for (let i = 0; i < 5000; i += 1) {
      // Ids are chained: the second run's ids depend on where it branches off the first.
      const family = below(12);
      const stem = 1 + below(20);
      const branch = below(3);
      const tail = below(15);
      const runs = [family * 1000, stem, 100_000 + (family * 100 + stem) * 100 + branch * 30, tail];
      const blocks = stem + tail;
      assert.equal(visit(cache, runs, blocks), plain.visit(runs), `request ${i}`);
    }
    assert.ok(cache.evictedBlocks > 1000);
  });
});

/** The same rules, block by block. */
class PlainCache {
  private readonly capacity: number;
  private readonly queue = new Map<number, true>();

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  visit(runs: Runs): number {
    const ids: number[] = [];
    for (let i = 0; i < runs.length; i += 2) {
      for (let k = 0; k < (runs[i + 1] as number); k += 1) ids.push((runs[i] as number) + k);
    }
    let hits = 0;
    while (hits < ids.length && this.queue.has(ids[hits] as number)) hits += 1;
    for (const id of ids.slice(0, hits)) this.queue.delete(id);
    while (this.queue.size + ids.length > this.capacity) {
      this.queue.delete(this.queue.keys().next().value as number);
    }
    for (const id of ids.reverse()) this.queue.set(id, true);
    return hits;
  }
}
