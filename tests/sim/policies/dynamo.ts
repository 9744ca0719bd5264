import { type CacheNode, PrefixCache } from "../../llm/cache.ts";
import { BLOCK_TOKENS, RunCursor } from "../../llm/runs.ts";
import { cheapest, type Policy, type PolicyContext, usableServers } from "../policy.ts";
import type { WorkRequest } from "../workload.ts";

/** More than all servers hold: only what is active counts. */
const ACTIVE_BLOCKS = 8_000_000;

interface Active {
  prefillTokens: number;
  node: CacheNode;
}

/**
 * NVIDIA Dynamo's KV router at its defaults: argmin of prefill blocks left after the overlap, own
 * active prefills included, plus active decode blocks with the request's own. Overlap is exact:
 * servers tell of their blocks by KV events. Its own requests are all the load it knows.
 */
export function dynamo(context: PolicyContext): Policy {
  const servers = Array.from({ length: context.servers }, () => ({
    prefillTokens: 0,
    /** Blocks of active requests, each once. */
    blocks: new PrefixCache(ACTIVE_BLOCKS),
    active: new Map<WorkRequest, Active>(),
  }));
  type Server = (typeof servers)[number];
  const endPrefill = (server: Server, request: WorkRequest): void => {
    const active = server.active.get(request);
    if (active === undefined) return;
    server.prefillTokens -= active.prefillTokens;
    active.prefillTokens = 0;
  };
  const end = (request: WorkRequest, at: number): void => {
    const server = servers[at] as Server;
    endPrefill(server, request);
    const active = server.active.get(request);
    if (active !== undefined) server.blocks.release(active.node);
    server.active.delete(request);
  };
  return {
    pollMs: 0,
    choose: (request) => {
      const requestBlocks = Math.ceil(request.promptTokens / BLOCK_TOKENS);
      const chosen = cheapest(
        usableServers(context),
        (at) => {
          const server = servers[at] as Server;
          const overlap = context.truth(at).cachedTokens(request) / BLOCK_TOKENS;
          const raw = (server.prefillTokens + request.promptTokens) / BLOCK_TOKENS;
          const held = server.blocks.treeBlocks - server.blocks.evictableBlocks;
          const shared = server.blocks.peekHeld(request.blocks);
          return Math.max(0, raw - overlap) + held + requestBlocks - shared;
        },
        context.random,
      );
      const server = servers[chosen] as Server;
      const prefillTokens = Math.max(
        0,
        request.promptTokens - context.truth(chosen).cachedTokens(request),
      );
      const all = Math.floor(request.promptTokens / BLOCK_TOKENS);
      const hold = server.blocks.acquire(request.blocks, all);
      server.blocks.reserve(all - hold.blocks);
      const cursor = new RunCursor(request.blocks);
      cursor.skip(hold.blocks);
      const node = server.blocks.insert(hold.node, cursor, all - hold.blocks);
      server.prefillTokens += prefillTokens;
      server.active.set(request, { prefillTokens, node });
      return chosen;
    },
    onFirstToken: (request, at) => endPrefill(servers[at] as Server, request),
    onFinish: end,
    onFailure: end,
  };
}
