import { DEFAULT_ENGINE } from "../../llm/model.ts";
import { cheapest, type Policy, type PolicyContext, usableServers } from "../policy.ts";
import type { WorkRequest } from "../workload.ts";

/** Price on a millisecond that each request there waits because of this one. */
const OTHERS_WEIGHT = 0.15;
/** Price on cache that this request fills, per token, where the cache turns over. */
const EVICTION_WEIGHT = 0.2;

/**
 * Knows what no gateway can: true caches, true queues, true answer lengths. The smallest expected
 * time, its own and what it costs the others there. A yardstick rather than a bound.
 */
export function oracle(context: PolicyContext): Policy {
  return {
    pollMs: 0,
    choose: (request, nowMs) =>
      cheapest(
        usableServers(context),
        (server) => cost(context, request, server, nowMs),
        context.random,
      ),
  };
}

function cost(context: PolicyContext, request: WorkRequest, at: number, nowMs: number): number {
  const server = context.truth(at);
  const slow = server.slowFactor();
  const uncached = request.promptTokens - server.cachedTokens(request);
  const pending = server.pendingPrefillTokens();
  const others = server.running() + server.waiting();
  const steps = 1 + (pending + uncached) / DEFAULT_ENGINE.maxPrefillTokens;
  const stepMs = DEFAULT_ENGINE.stepMs + DEFAULT_ENGINE.decodeMsPerSequence * others;
  const prefillMs = DEFAULT_ENGINE.prefillMsPerToken * uncached;
  const stepLeftMs = Number.isFinite(server.stepEndMs()) ? server.stepEndMs() - nowMs : 0;
  const waitMs = slow * (DEFAULT_ENGINE.prefillMsPerToken * pending + steps * stepMs) + stepLeftMs;
  const decodeMs = slow * request.outputTokens * DEFAULT_ENGINE.decodeMsPerSequence * others;
  const othersMs = slow * OTHERS_WEIGHT * prefillMs * others;
  return waitMs + slow * prefillMs * (1 + EVICTION_WEIGHT) + othersMs + OTHERS_WEIGHT * decodeMs;
}
