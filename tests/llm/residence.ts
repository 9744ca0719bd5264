import type { CacheNode, PrefixCache } from "./cache.ts";
import type { EngineRequest } from "./model.ts";
import { BLOCK_TOKENS, RunCursor } from "./runs.ts";

/**
 * What one running request holds of its server's cache: a path of named blocks that others may
 * share, and private ones that get their names as they are computed.
 */
export class Residence {
  private readonly cache: PrefixCache;
  private readonly cursor: RunCursor;
  private node: CacheNode;
  private namedBlocks: number;
  private privateBlocks: number;

  private constructor(cache: PrefixCache, request: EngineRequest, node: CacheNode, named: number) {
    this.cache = cache;
    this.node = node;
    this.namedBlocks = named;
    this.privateBlocks = 0;
    this.cursor = new RunCursor(request.blocks);
    this.cursor.skip(named);
  }

  /** Takes room for `tokens` tokens, cached ones shared; null if there is no room. */
  static enter(cache: PrefixCache, request: EngineRequest, tokens: number): Residence | null {
    const hold = cache.acquire(request.blocks, hitLimitBlocks(request.promptTokens));
    const needed = Math.ceil(tokens / BLOCK_TOKENS) - hold.blocks;
    if (!cache.reserve(needed)) {
      cache.release(hold.node);
      return null;
    }
    const residence = new Residence(cache, request, hold.node, hold.blocks);
    residence.privateBlocks = needed;
    return residence;
  }

  /** Tokens of the named blocks: right after `enter`, what was cached. */
  get namedTokens(): number {
    return this.namedBlocks * BLOCK_TOKENS;
  }

  /** Makes room for `tokens` tokens in all; false if there is none. */
  grow(tokens: number): boolean {
    const missing = Math.ceil(tokens / BLOCK_TOKENS) - this.namedBlocks - this.privateBlocks;
    if (missing <= 0) return true;
    if (!this.cache.reserve(missing)) return false;
    this.privateBlocks += missing;
    return true;
  }

  /** Names the prompt's full blocks among the first `computedTokens` tokens. */
  namePrompt(computedTokens: number): void {
    const blocks = Math.floor(computedTokens / BLOCK_TOKENS) - this.namedBlocks;
    if (blocks > 0 && !this.cursor.done) this.insert(this.cursor, blocks);
  }

  /**
   * Names the answer's full blocks, `firstBlock` being the one after the prompt's full blocks.
   * A prompt that had blocks without id has no names for its answer either.
   */
  nameAnswer(request: EngineRequest, computedTokens: number, firstBlock: number): void {
    const promptBlocks = Math.floor(request.promptTokens / BLOCK_TOKENS);
    if (this.namedBlocks < promptBlocks) return;
    const blocks = Math.floor(computedTokens / BLOCK_TOKENS) - this.namedBlocks;
    if (blocks <= 0) return;
    const first = firstBlock + this.namedBlocks - promptBlocks;
    this.insert(new RunCursor([first, blocks]), blocks);
  }

  /** Lets go of everything; named blocks stay cached until they are evicted. */
  leave(): void {
    this.cache.release(this.node);
    this.cache.free(this.privateBlocks);
    this.privateBlocks = 0;
  }

  private insert(cursor: RunCursor, blocks: number): void {
    const before = this.cache.privateBlocks;
    this.node = this.cache.insert(this.node, cursor, blocks);
    const named = before - this.cache.privateBlocks;
    this.namedBlocks += named;
    this.privateBlocks -= named;
  }
}

/** Full blocks of a prompt that a hit may cover: its last token is always computed. */
export function hitLimitBlocks(promptTokens: number): number {
  return Math.max(0, Math.floor((promptTokens - 1) / BLOCK_TOKENS));
}
