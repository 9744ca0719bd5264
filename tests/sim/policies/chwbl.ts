import { blockAt, InFlight, type Policy, type PolicyContext } from "../policy.ts";
import type { WorkRequest } from "../workload.ts";
import { Ring } from "./ring.ts";

/** KubeAI's defaults. */
const POINTS_PER_SERVER = 256;
const LOAD_FACTOR = 1.25;

/**
 * KubeAI's consistent hashing with bounded loads: the key is the first 100 characters of the first
 * user message; the ring is walked on while a server has more than 1.25 times the mean load.
 */
export function chwbl(context: PolicyContext): Policy {
  const ring = new Ring(context.servers, POINTS_PER_SERVER);
  const inFlight = new InFlight(context.servers);
  return {
    pollMs: 0,
    choose: (request) => {
      const total = inFlight.counts.reduce((sum, count) => sum + count, 0);
      const bound = ((total + 1) / context.servers) * LOAD_FACTOR;
      let chosen = -1;
      for (const server of ring.walk(userKey(request))) {
        if (!context.usable(server)) continue;
        if (chosen < 0) chosen = server;
        if (inFlight.of(server) <= bound) {
          chosen = server;
          break;
        }
      }
      if (chosen < 0) chosen = context.random.below(context.servers);
      inFlight.add(chosen, 1);
      return chosen;
    },
    onFinish: (_request, server) => inFlight.add(server, -1),
    onFailure: (_request, server) => inFlight.add(server, -1),
  };
}

/** 100 characters end in the second block of the first user message. */
function userKey(request: WorkRequest): string {
  let block = 0;
  for (const message of request.messages) {
    if (message.role === "user") {
      const last = Math.min(block + 1, block + message.blocks - 1);
      return `${blockAt(request.blocks, last)}`;
    }
    block += message.blocks;
  }
  return `${blockAt(request.blocks, 0)}`;
}
