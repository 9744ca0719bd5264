import { text } from "../bytes";
import { Signal } from "../config/signals";
import { FALLBACK_RANK, MetricNameTable } from "./names";

/** What inference servers and GPU exporters call their signals. */
export function presetNames(): MetricNameTable {
  const table = new MetricNameTable();
  addVllm(table, "vllm:");
  // Ray Serve exports the same metrics under a spelling of its own.
  addVllm(table, "ray_vllm_");
  addVllm(table, "ray_vllm:");
  // LMDeploy took them over; NIM and MindIE have them without any prefix.
  addVllm(table, "lmdeploy:");
  addVllm(table, "");
  addSglang(table, "sglang:");
  addSglang(table, "sglang_");
  addTgi(table);
  addTensorRt(table, "trtllm_");
  addTensorRt(table, "trtllm:");
  addTriton(table);
  addLlamaCpp(table, "llamacpp:");
  addLlamaCpp(table, "llamacpp_");
  addGpus(table);
  add(table, Signal.StartTime, "process_start_time_seconds", FALLBACK_RANK);
  return table;
}

/** The first name is the current one, the next its predecessor. */
function addVllm(table: MetricNameTable, prefix: string): void {
  add(table, Signal.Running, prefix + "num_requests_running");
  add(table, Signal.Waiting, prefix + "num_requests_waiting");
  add(table, Signal.KvUsage, prefix + "kv_cache_usage_perc");
  add(table, Signal.KvUsage, prefix + "gpu_cache_usage_perc", 1);
  addCounter(table, Signal.PrefixQueries, prefix + "prefix_cache_queries");
  addCounter(table, Signal.PrefixQueries, prefix + "gpu_prefix_cache_queries", 2);
  addCounter(table, Signal.PrefixHits, prefix + "prefix_cache_hits");
  addCounter(table, Signal.PrefixHits, prefix + "gpu_prefix_cache_hits", 2);
  addCounter(table, Signal.PromptTokens, prefix + "prompt_tokens");
  addCounter(table, Signal.GenerationTokens, prefix + "generation_tokens");
  add(table, Signal.IterationTokens, prefix + "iteration_tokens_total_sum");
  add(table, Signal.CacheInfo, prefix + "cache_config_info");
  add(table, Signal.LoraInfo, prefix + "lora_requests_info");
  // Not kept by exporters that merge several processes, but exact where it is.
  add(table, Signal.StartTime, prefix + "prompt_tokens_created");
}

function addSglang(table: MetricNameTable, prefix: string): void {
  add(table, Signal.Running, prefix + "num_running_reqs");
  add(table, Signal.Waiting, prefix + "num_queue_reqs");
  add(table, Signal.KvUsage, prefix + "token_usage");
  add(table, Signal.CapacityTokens, prefix + "max_total_num_tokens");
  add(table, Signal.CacheInfo, prefix + "cache_config_info", 1);
  addCounter(table, Signal.PromptTokens, prefix + "prompt_tokens");
  addCounter(table, Signal.GenerationTokens, prefix + "generation_tokens");
  // Every prompt token is looked up, and those found are counted by where they were.
  addCounter(table, Signal.PrefixQueries, prefix + "prompt_tokens");
  addCounter(table, Signal.PrefixHits, prefix + "cached_tokens");
  add(table, Signal.StartTime, prefix + "prompt_tokens_created");
}

function addTgi(table: MetricNameTable): void {
  add(table, Signal.Running, "tgi_batch_current_size");
  add(table, Signal.Waiting, "tgi_queue_size");
  add(table, Signal.PromptTokens, "tgi_request_input_length_sum");
  add(table, Signal.GenerationTokens, "tgi_request_generated_tokens_sum");
}

function addTensorRt(table: MetricNameTable, prefix: string): void {
  add(table, Signal.Running, prefix + "num_requests_running");
  add(table, Signal.Waiting, prefix + "num_requests_waiting");
  add(table, Signal.KvUsage, prefix + "kv_cache_utilization");
  add(table, Signal.KvUsage, prefix + "kv_cache_usage_perc", 1);
  add(table, Signal.BlockTokens, prefix + "kv_cache_tokens_per_block");
  add(table, Signal.CacheBlocks, prefix + "kv_cache_max_blocks");
  addCounter(table, Signal.PromptTokens, prefix + "prompt_tokens");
  addCounter(table, Signal.GenerationTokens, prefix + "generation_tokens");
}

/** Triton; `nv_inference_queue_duration_us` is time spent so far, not a depth. */
function addTriton(table: MetricNameTable): void {
  const requests = "nv_trt_llm_request_metrics";
  const blocks = "nv_trt_llm_kv_cache_block_metrics";
  addLabelled(table, Signal.Running, requests, "request_type", "scheduled", 0);
  addLabelled(table, Signal.Running, requests, "request_type", "active", 1);
  addLabelled(table, Signal.Waiting, requests, "request_type", "waiting", 0);
  addLabelled(table, Signal.KvUsage, blocks, "kv_cache_block_type", "fraction", 0);
  addLabelled(table, Signal.BlockTokens, blocks, "kv_cache_block_type", "tokens_per", 0);
  addLabelled(table, Signal.CacheBlocks, blocks, "kv_cache_block_type", "max", 0);
  add(table, Signal.Waiting, "nv_inference_pending_request_count", FALLBACK_RANK);
}

function addLlamaCpp(table: MetricNameTable, prefix: string): void {
  add(table, Signal.Running, prefix + "requests_processing");
  add(table, Signal.Waiting, prefix + "requests_deferred");
  add(table, Signal.KvUsage, prefix + "kv_cache_usage_ratio");
  add(table, Signal.PromptTokens, prefix + "prompt_tokens_total");
  add(table, Signal.GenerationTokens, prefix + "tokens_predicted_total");
}

/** GPU exporters: percent or share, as each of them documents it. */
function addGpus(table: MetricNameTable): void {
  add(table, Signal.GpuUtilization, "DCGM_FI_DEV_GPU_UTIL", 0, 0.01);
  add(table, Signal.GpuUtilization, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", FALLBACK_RANK, 1);
  add(table, Signal.GpuUtilization, "nv_gpu_utilization", FALLBACK_RANK, 1);
  add(table, Signal.GpuUtilization, "nvidia_smi_utilization_gpu_ratio", FALLBACK_RANK, 1);
}

function add(
  table: MetricNameTable,
  signal: Signal,
  name: string,
  rank: i32 = 0,
  scale: f64 = 0,
): void {
  table.add(signal, text(name), rank, scale);
}

/** A counter: with the suffix of the text formats, or as older exporters write it. */
function addCounter(table: MetricNameTable, signal: Signal, name: string, rank: i32 = 0): void {
  add(table, signal, name + "_total", rank);
  add(table, signal, name, rank + 1);
}

function addLabelled(
  table: MetricNameTable,
  signal: Signal,
  name: string,
  label: string,
  value: string,
  rank: i32,
): void {
  table.add(signal, text(name), rank, 0, text(label), text(value));
}
