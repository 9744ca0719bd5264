import type { Engine } from "../llm/engine.ts";
import { metricsText } from "../llm/metrics.ts";
import type { ServerTruth } from "./policy.ts";

/** Time 0 for servers that tell when they started. */
const EPOCH_MS = 1_700_000_000_000;

/** The true state of a server, read when it is asked for. */
export function serverTruth(engine: Engine): ServerTruth {
  return {
    cachedTokens: (request) => engine.cachedTokens(request),
    sequences: () => engine.sequences(),
    running: () => engine.runningCount,
    waiting: () => engine.waitingCount,
    kvUsage: () => engine.cache.usage,
    stepEndMs: () => engine.nextEventMs(),
    slowFactor: () => engine.options.slowFactor,
    cacheTokens: () => engine.options.cacheTokens,
  };
}

/** The text of a server's /metrics; undefined when it is dead. */
export function serverMetrics(engine: Engine): string | undefined {
  if (!engine.alive) return undefined;
  const processStartSeconds = (EPOCH_MS + engine.startedAtMs) / 1000;
  return metricsText(engine, { model: "sim-model", processStartSeconds });
}
