import {
  blockAt,
  cheapest,
  InFlight,
  type Policy,
  type PolicyContext,
  usableServers,
} from "../policy.ts";
import type { WorkRequest } from "../workload.ts";

const TTL_MS = 1_800_000;

/** What all gateways keep in Redis. */
interface Redis {
  hosts: Map<number, { server: number; expiresMs: number }>;
  inFlight: InFlight;
}

/**
 * Higress's prefix cache: one key per user turn, all that came before in it, kept in a Redis that
 * all gateways share. The host of the deepest known key, else the one with the fewest requests.
 * No bound on load.
 */
export function higress(context: PolicyContext): Policy {
  let redis = context.shared.get("higress") as Redis | undefined;
  if (redis === undefined) {
    redis = { hosts: new Map(), inFlight: new InFlight(context.servers) };
    context.shared.set("higress", redis);
  }
  const { hosts, inFlight } = redis;
  return {
    pollMs: 0,
    choose: (request, nowMs) => {
      const keys = turnKeys(request);
      let chosen = -1;
      let known = 0;
      for (const key of keys) {
        const entry = hosts.get(key);
        if (entry === undefined || entry.expiresMs < nowMs) break;
        if (!context.usable(entry.server)) break;
        chosen = entry.server;
        entry.expiresMs = nowMs + TTL_MS;
        known += 1;
      }
      if (chosen < 0) {
        const usable = usableServers(context);
        chosen = cheapest(usable, (server) => inFlight.of(server), context.random);
      }
      for (const key of keys.slice(known)) {
        hosts.set(key, { server: chosen, expiresMs: nowMs + TTL_MS });
      }
      inFlight.add(chosen, 1);
      return chosen;
    },
    onFinish: (_request, server) => inFlight.add(server, -1),
    onFailure: (_request, server) => inFlight.add(server, -1),
  };
}

/** The last block of each user turn and of the prompt. */
function turnKeys(request: WorkRequest): number[] {
  const keys: number[] = [];
  let blocks = 0;
  for (const [at, message] of request.messages.entries()) {
    blocks += message.blocks;
    const last = at === request.messages.length - 1;
    if (message.role !== "user" && !last) continue;
    const block = blockAt(request.blocks, blocks - 1);
    keys.push(block >= 0 ? block : -1 - request.id);
  }
  return keys;
}
