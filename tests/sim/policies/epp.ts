import { RunCursor } from "../../llm/runs.ts";
import { cheapest, type Policy, type PolicyContext, usableServers } from "../policy.ts";
import type { WorkRequest } from "../workload.ts";

/** The endpoint picker's defaults. */
const QUEUE_WEIGHT = 2;
const KV_WEIGHT = 2;
const PREFIX_WEIGHT = 3;
const POLL_MS = 50;
const BLOCK_TOKENS = 64;
const MAX_BLOCKS = 131_072 / BLOCK_TOKENS;
const SPLIT = BLOCK_TOKENS / 16;

/**
 * The Gateway API inference extension's endpoint picker (llm-d): weighted sum of queue, KV usage
 * and prefix scores, the highest wins, ties by chance. The prefix index holds 64-token blocks that
 * were sent to each server, least recently used out, sized by the server's reported cache.
 */
export function epp(context: PolicyContext): Policy {
  const index = new PrefixIndex(context.servers);
  return {
    pollMs: POLL_MS,
    choose: (request) => {
      const hashes = blockHashes(request);
      const matches = index.match(hashes);
      const servers = usableServers(context);
      const queues = servers.map((server) => context.report(server)?.waiting ?? 0);
      const least = Math.min(...queues);
      const most = Math.max(...queues);
      const chosen = cheapest(
        servers,
        (server) => {
          const report = context.report(server);
          const waiting = report?.waiting ?? 0;
          const queue = most === least ? 1 : (most - waiting) / (most - least);
          const kv = 1 - (report?.kvUsage ?? 0);
          const prefix = hashes.length === 0 ? 0 : (matches[server] as number) / hashes.length;
          return -(QUEUE_WEIGHT * queue + KV_WEIGHT * kv + PREFIX_WEIGHT * prefix);
        },
        context.random,
      );
      index.add(hashes, chosen, Math.floor(context.truth(chosen).cacheTokens() / BLOCK_TOKENS));
      return chosen;
    },
  };
}

/** One chained hash per 64 tokens, a partial last block included. */
function blockHashes(request: WorkRequest): number[] {
  const hashes: number[] = [];
  const cursor = new RunCursor(request.blocks);
  const whole = Math.min(MAX_BLOCKS, Math.floor(request.promptTokens / BLOCK_TOKENS));
  cursor.skip(SPLIT - 1);
  for (let block = 0; block < whole && !cursor.done; block += 1) {
    hashes.push(cursor.id);
    cursor.skip(SPLIT);
  }
  // The partial block is this request's own, as far as the ids tell.
  if (hashes.length < MAX_BLOCKS && request.promptTokens % BLOCK_TOKENS > 0) {
    hashes.push(-1 - request.id);
  }
  return hashes;
}

class PrefixIndex {
  /** Servers that have a block, by its hash. */
  private readonly holders = new Map<number, Set<number>>();
  private readonly recent: Map<number, true>[];

  constructor(servers: number) {
    this.recent = Array.from({ length: servers }, () => new Map<number, true>());
  }

  /** Blocks matched per server; goes on while any server has the block. */
  match(hashes: readonly number[]): number[] {
    const matched = new Array<number>(this.recent.length).fill(0);
    for (const hash of hashes) {
      const holders = this.holders.get(hash);
      if (holders === undefined || holders.size === 0) break;
      for (const server of holders) matched[server] = (matched[server] as number) + 1;
    }
    return matched;
  }

  add(hashes: readonly number[], server: number, capacity: number): void {
    const recent = this.recent[server] as Map<number, true>;
    for (const hash of hashes) {
      if (!recent.delete(hash)) {
        const holders = this.holders.get(hash);
        if (holders === undefined) this.holders.set(hash, new Set([server]));
        else holders.add(server);
      }
      recent.set(hash, true);
    }
    while (recent.size > capacity) {
      const oldest = recent.keys().next().value as number;
      recent.delete(oldest);
      const holders = this.holders.get(oldest);
      holders?.delete(server);
      if (holders?.size === 0) this.holders.delete(oldest);
    }
  }
}
