import { DEFAULT_ENGINE } from "../../llm/model.ts";
import { BLOCK_TOKENS, commonBlocks, type Runs } from "../../llm/runs.ts";
import { cheapest, type Policy, type PolicyContext, usableServers } from "../policy.ts";
import type { WorkRequest } from "../workload.ts";

/** Price on a millisecond that each request there waits because of this one. */
const OTHERS_WEIGHT = 0.15;
/** Price on filling caches: each uncached token pushes another out. */
const EVICTION_WEIGHT = 0.2;
/** Of longer queues only so many are compared prompt by prompt. */
const MAX_COMPARED = 64;

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

/** The prefill that stands before a request, and what of its own will be cached by then. */
interface Ahead {
  pendingTokens: number;
  cachedTokens: number;
  requests: number;
}

function ahead(context: PolicyContext, request: WorkRequest, at: number): Ahead {
  const server = context.truth(at);
  let cachedTokens = server.cachedTokens(request);
  let pendingTokens = 0;
  let requests = 0;
  const waiting: Runs[] = [];
  for (const sequence of server.sequences()) {
    requests += 1;
    const { blocks, promptTokens } = sequence.request;
    if (!Number.isNaN(sequence.firstTokenMs)) continue;
    let known = sequence.computedTokens;
    if (waiting.length < MAX_COMPARED) {
      for (const other of waiting) {
        known = Math.max(known, commonBlocks(blocks, other) * BLOCK_TOKENS);
      }
      const shared = commonBlocks(blocks, request.blocks) * BLOCK_TOKENS;
      cachedTokens = Math.max(cachedTokens, Math.min(shared, request.promptTokens - 1));
      waiting.push(blocks);
    }
    if (Number.isNaN(sequence.startedMs)) {
      known = Math.max(known, server.cachedTokens(sequence.request));
    }
    pendingTokens += Math.max(1, promptTokens - known);
  }
  return { pendingTokens, cachedTokens, requests };
}

function cost(context: PolicyContext, request: WorkRequest, at: number, nowMs: number): number {
  const server = context.truth(at);
  const slow = server.slowFactor();
  const { pendingTokens, cachedTokens, requests } = ahead(context, request, at);
  const uncached = request.promptTokens - cachedTokens;
  const steps = 1 + (pendingTokens + uncached) / DEFAULT_ENGINE.maxPrefillTokens;
  const stepMs = DEFAULT_ENGINE.stepMs + DEFAULT_ENGINE.decodeMsPerSequence * requests;
  const prefillMs = DEFAULT_ENGINE.prefillMsPerToken * uncached;
  const stepLeftMs = Number.isFinite(server.stepEndMs()) ? server.stepEndMs() - nowMs : 0;
  const waitMs =
    slow * (DEFAULT_ENGINE.prefillMsPerToken * pendingTokens + steps * stepMs) + stepLeftMs;
  const decodeMs = slow * request.outputTokens * DEFAULT_ENGINE.decodeMsPerSequence * requests;
  const othersMs = slow * OTHERS_WEIGHT * prefillMs * requests;
  return waitMs + slow * prefillMs * (1 + EVICTION_WEIGHT) + othersMs + OTHERS_WEIGHT * decodeMs;
}
