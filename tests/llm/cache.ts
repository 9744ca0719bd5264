import { RunCursor, type Runs } from "./runs.ts";

/**
 * A stretch of consecutive cached blocks with one parent. The tree's invariant: who holds a node
 * holds all its ancestors, so `refs` never grows downwards and a node without holders has only
 * descendants without holders, all of them before it in the queue of the evictable.
 */
export class CacheNode {
  first: number;
  count: number;
  parent: CacheNode | null;
  children = new Map<number, CacheNode>();
  refs = 0;
  older: CacheNode | null = null;
  newer: CacheNode | null = null;

  constructor(first: number, count: number, parent: CacheNode | null) {
    this.first = first;
    this.count = count;
    this.parent = parent;
  }
}

/** What `acquire` found: hold `node` until `release(node)`. */
export interface Hold {
  node: CacheNode;
  blocks: number;
}

/**
 * Prefix cache of one server: blocks by chained id, least recently released evicted first and of
 * one request its deepest first, as vLLM's free queue does. Blocks in use are never evicted.
 * Work per request grows with its runs, not with its blocks.
 */
export class PrefixCache {
  readonly capacityBlocks: number;
  /** Blocks held by running requests that have no id yet (being computed or decoded). */
  privateBlocks = 0;
  /** Blocks with an id, held or not. */
  treeBlocks = 0;
  /** Blocks with an id that nobody holds. */
  evictableBlocks = 0;
  evictedBlocks = 0;
  private readonly root = new CacheNode(0, 0, null);
  /** Head of the queue of evictable nodes: `queue.newer` is evicted first. */
  private readonly queue = new CacheNode(0, 0, null);

  constructor(capacityBlocks: number) {
    this.capacityBlocks = capacityBlocks;
    this.queue.newer = this.queue;
    this.queue.older = this.queue;
  }

  /** Blocks that a new request could get: free ones and those that may be evicted. */
  get availableBlocks(): number {
    return this.capacityBlocks - this.privateBlocks - this.treeBlocks + this.evictableBlocks;
  }

  /** Share of blocks in use by running requests, 0..1; what engines report as KV usage. */
  get usage(): number {
    return 1 - this.availableBlocks / this.capacityBlocks;
  }

  /** Blocks at the start of `runs` that are cached, at most `maxBlocks`; changes nothing. */
  peek(runs: Runs, maxBlocks: number): number {
    const cursor = new RunCursor(runs);
    let node: CacheNode | undefined = this.root;
    let found = 0;
    while (found < maxBlocks && !cursor.done) {
      node = node.children.get(cursor.id);
      if (node === undefined) break;
      const matched = matchNode(node, cursor, maxBlocks - found);
      found += matched;
      if (matched < node.count) break;
    }
    return found;
  }

  /** Blocks at the start of `runs` that somebody holds; changes nothing. */
  peekHeld(runs: Runs): number {
    const cursor = new RunCursor(runs);
    let node: CacheNode | undefined = this.root;
    let found = 0;
    while (!cursor.done) {
      node = node.children.get(cursor.id);
      if (node === undefined || node.refs === 0) break;
      const matched = matchNode(node, cursor, node.count);
      found += matched;
      if (matched < node.count) break;
    }
    return found;
  }

  /** Holds the longest cached start of `runs`, at most `maxBlocks`. */
  acquire(runs: Runs, maxBlocks: number): Hold {
    const cursor = new RunCursor(runs);
    let deepest = this.root;
    let found = 0;
    while (found < maxBlocks && !cursor.done) {
      const child = deepest.children.get(cursor.id);
      if (child === undefined) break;
      const matched = matchNode(child, cursor, maxBlocks - found);
      deepest = matched < child.count ? this.split(child, matched) : child;
      this.hold(deepest);
      found += matched;
      if (deepest !== child) break;
    }
    return { node: deepest, blocks: found };
  }

  /** Lets go of `node` and its ancestors, deepest first. */
  release(node: CacheNode): void {
    for (let at: CacheNode | null = node; at !== null && at !== this.root; at = at.parent) {
      at.refs -= 1;
      if (at.refs === 0) {
        this.enqueue(at);
        this.evictableBlocks += at.count;
      }
    }
  }

  /** Takes `blocks` private blocks, evicting as needed; false (and nothing taken) if it can't. */
  reserve(blocks: number): boolean {
    if (blocks > this.availableBlocks) return false;
    const free = this.capacityBlocks - this.privateBlocks - this.treeBlocks;
    if (blocks > free) this.evict(blocks - free);
    this.privateBlocks += blocks;
    return true;
  }

  /** Gives private blocks back. */
  free(blocks: number): void {
    this.privateBlocks -= blocks;
  }

  /**
   * Gives ids to `count` private blocks below `node`, which the caller holds: those at `cursor`,
   * which goes on by as many. Blocks that are there already are shared and the copies freed.
   * Returns the node to hold from now on instead of `node`.
   */
  insert(node: CacheNode, cursor: RunCursor, count: number): CacheNode {
    let deepest = node;
    let rest = count;
    while (rest > 0 && !cursor.done) {
      const child = deepest.children.get(cursor.id);
      if (child !== undefined) {
        const matched = matchNode(child, cursor, rest);
        deepest = matched < child.count ? this.split(child, matched) : child;
        this.hold(deepest);
        this.privateBlocks -= matched;
        rest -= matched;
        continue;
      }
      const step = Math.min(rest, cursor.left);
      const goesOn =
        deepest !== this.root &&
        deepest.refs === 1 &&
        deepest.children.size === 0 &&
        deepest.first + deepest.count === cursor.id;
      if (goesOn) {
        deepest.count += step;
      } else {
        const added = new CacheNode(cursor.id, step, deepest);
        added.refs = 1;
        deepest.children.set(added.first, added);
        deepest = added;
      }
      this.privateBlocks -= step;
      this.treeBlocks += step;
      rest -= step;
      cursor.advance(step);
    }
    return deepest;
  }

  private hold(node: CacheNode): void {
    if (node.refs === 0) {
      this.dequeue(node);
      this.evictableBlocks -= node.count;
    }
    node.refs += 1;
  }

  /** Cuts `node` after `blocks`; the new upper part is returned, `node` stays the lower. */
  private split(node: CacheNode, blocks: number): CacheNode {
    const parent = node.parent as CacheNode;
    const upper = new CacheNode(node.first, blocks, parent);
    upper.refs = node.refs;
    parent.children.set(upper.first, upper);
    node.first += blocks;
    node.count -= blocks;
    node.parent = upper;
    upper.children.set(node.first, node);
    if (upper.refs === 0) {
      // Just behind its lower part, so that the deepest still goes first.
      this.enqueue(upper, node.newer as CacheNode);
    }
    return upper;
  }

  private evict(blocks: number): void {
    let rest = blocks;
    while (rest > 0) {
      const oldest = this.queue.newer as CacheNode;
      if (oldest === this.queue) return;
      const step = Math.min(rest, oldest.count);
      oldest.count -= step;
      rest -= step;
      this.treeBlocks -= step;
      this.evictableBlocks -= step;
      this.evictedBlocks += step;
      if (oldest.count === 0) {
        this.dequeue(oldest);
        oldest.parent?.children.delete(oldest.first);
      }
    }
  }

  private enqueue(node: CacheNode, before: CacheNode = this.queue): void {
    const older = before.older as CacheNode;
    node.older = older;
    node.newer = before;
    older.newer = node;
    before.older = node;
  }

  private dequeue(node: CacheNode): void {
    (node.older as CacheNode).newer = node.newer;
    (node.newer as CacheNode).older = node.older;
    node.older = null;
    node.newer = null;
  }
}

/** Blocks of `node` that `cursor` goes through, at most `maxBlocks`. */
function matchNode(node: CacheNode, cursor: RunCursor, maxBlocks: number): number {
  const end = Math.min(node.count, maxBlocks);
  let matched = 0;
  while (matched < end && !cursor.done && cursor.id === node.first + matched) {
    const step = Math.min(end - matched, cursor.left);
    matched += step;
    cursor.advance(step);
  }
  return matched;
}
