/** What a server can report about itself; `metrics.names` lists metric names per signal. */
export const enum Signal {
  /** Requests in the running batch. */
  Running,
  /** Requests that wait in the engine's own queue. */
  Waiting,
  /** Share of the KV cache in use, 0..1. */
  KvUsage,
  /** Share of time in which the GPU worked, 0..1. */
  GpuUtilization,
  /** Prompt tokens found in the prefix cache, counted since start. */
  PrefixHits,
  /** Prompt tokens looked up in the prefix cache, counted since start. */
  PrefixQueries,
  /** Prompt tokens processed, counted since start. */
  PromptTokens,
  /** Tokens generated, counted since start. */
  GenerationTokens,
  /** Tokens over all engine steps (prefill and decode), counted since start. */
  IterationTokens,
  /** KV cache size in tokens. */
  CapacityTokens,
  /** Tokens in one KV cache block. */
  BlockTokens,
  /** Number of KV cache blocks. */
  CacheBlocks,
  /** A metric whose labels `block_size` and `num_gpu_blocks` hold the cache size. */
  CacheInfo,
  /** A metric whose labels name the adapters that are loaded. */
  LoraInfo,
  /** Start of the process, seconds since 1970. */
  StartTime,
}

/** Number of signals. */
export const SIGNALS: i32 = 15;

/** The name of a signal in `metrics.names`. */
export function signalName(signal: i32): string {
  switch (signal) {
    case Signal.Running:
      return "running";
    case Signal.Waiting:
      return "waiting";
    case Signal.KvUsage:
      return "kv_usage";
    case Signal.GpuUtilization:
      return "gpu_utilization";
    case Signal.PrefixHits:
      return "prefix_hits";
    case Signal.PrefixQueries:
      return "prefix_queries";
    case Signal.PromptTokens:
      return "prompt_tokens";
    case Signal.GenerationTokens:
      return "generation_tokens";
    case Signal.IterationTokens:
      return "iteration_tokens";
    case Signal.CapacityTokens:
      return "capacity_tokens";
    case Signal.BlockTokens:
      return "block_tokens";
    case Signal.CacheBlocks:
      return "cache_blocks";
    case Signal.CacheInfo:
      return "cache_info";
    case Signal.LoraInfo:
      return "lora_info";
    default:
      return "start_time";
  }
}
