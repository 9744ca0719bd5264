import { PrefixCache } from "../../llm/cache.ts";
import { BLOCK_TOKENS, RunCursor } from "../../llm/runs.ts";
import { TOKEN_BYTES } from "../../llm/tokens.ts";
import { InFlight, type Policy, type PolicyContext, usableServers } from "../policy.ts";
import type { WorkRequest } from "../workload.ts";

/** Defaults of the launcher that users start. */
const CACHE_THRESHOLD = 0.3;
const BALANCE_ABS = 64;
const BALANCE_REL = 1.5;
const MAX_TREE_CHARS = 2 ** 26;

/**
 * SGLang's cache-aware policy: while loads are balanced, the worker with the longest match in the
 * tree of sent texts if it covers more than the threshold, else the least loaded. Load is this
 * gateway's requests in flight, the first of equals wins. Tools are no part of the text.
 */
export function sglang(context: PolicyContext): Policy {
  const inFlight = new InFlight(context.servers);
  const treeBlocks = MAX_TREE_CHARS / TOKEN_BYTES / BLOCK_TOKENS;
  const trees = Array.from({ length: context.servers }, () => new PrefixCache(treeBlocks));
  return {
    pollMs: 0,
    choose: (request) => {
      const usable = usableServers(context);
      const chosen = pick(context, inFlight, trees, usable, request);
      remember(trees[chosen] as PrefixCache, request);
      inFlight.add(chosen, 1);
      return chosen;
    },
    onFinish: (_request, server) => inFlight.add(server, -1),
    onFailure: (_request, server) => inFlight.add(server, -1),
  };
}

function pick(
  context: PolicyContext,
  inFlight: InFlight,
  trees: readonly PrefixCache[],
  usable: readonly number[],
  request: WorkRequest,
): number {
  const loads = usable.map((server) => inFlight.of(server));
  const most = Math.max(...loads);
  const least = Math.min(...loads);
  const leastLoaded = usable[loads.indexOf(least)] as number;
  if (most - least > BALANCE_ABS && most > BALANCE_REL * least) return leastLoaded;
  let longest = 0;
  let matched: number[] = [];
  for (const server of usable) {
    const blocks = (trees[server] as PrefixCache).peek(request.blocks, Number.MAX_SAFE_INTEGER);
    if (blocks > longest) {
      longest = blocks;
      matched = [];
    }
    if (blocks === longest && blocks > 0) matched.push(server);
  }
  const tools = request.messages[0]?.role === "tools" ? request.messages[0].blocks : 0;
  const textBlocks = Math.max(1, request.promptTokens / BLOCK_TOKENS - tools);
  const rate = Math.max(0, longest - tools) / textBlocks;
  return rate > CACHE_THRESHOLD ? context.random.pick(matched) : leastLoaded;
}

function remember(tree: PrefixCache, request: WorkRequest): void {
  const all = Math.floor(request.promptTokens / BLOCK_TOKENS);
  const hold = tree.acquire(request.blocks, all);
  if (!tree.reserve(all - hold.blocks)) {
    tree.release(hold.node);
    return;
  }
  const cursor = new RunCursor(request.blocks);
  cursor.skip(hold.blocks);
  tree.release(tree.insert(hold.node, cursor, all - hold.blocks));
}
