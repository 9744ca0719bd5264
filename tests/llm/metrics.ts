import type { Engine } from "./engine.ts";
import { BLOCK_TOKENS } from "./runs.ts";

/** Whose metric names a server speaks. */
export const DIALECTS = ["vllm", "vllm-old", "sglang", "tgi", "llamacpp"] as const;
export type MetricsDialect = (typeof DIALECTS)[number];

/** Names the server in its metrics. */
export interface MetricsIdentity {
  model: string;
  /** Unix seconds. */
  processStartSeconds: number;
}

type Kind = "gauge" | "counter";

/** Prometheus text of what `engine` says about itself. */
export function metricsText(
  engine: Engine,
  identity: MetricsIdentity,
  dialect: MetricsDialect = "vllm",
): string {
  const text = new MetricsText(identity.model);
  switch (dialect) {
    case "sglang":
      writeSglang(text, engine);
      break;
    case "tgi":
      text.sample("tgi_queue_size", "gauge", engine.report.waiting, "");
      text.sample("tgi_batch_current_size", "gauge", engine.report.running, "");
      break;
    case "llamacpp":
      writeLlamacpp(text, engine);
      break;
    default:
      writeVllm(text, engine, dialect === "vllm-old");
  }
  text.sample("process_start_time_seconds", "gauge", identity.processStartSeconds, "");
  return text.done();
}

function writeVllm(text: MetricsText, engine: Engine, old: boolean): void {
  const { report, counters } = engine;
  text.sample("vllm:num_requests_running", "gauge", report.running);
  text.sample("vllm:num_requests_waiting", "gauge", report.waiting);
  const kv = old ? "vllm:gpu_cache_usage_perc" : "vllm:kv_cache_usage_perc";
  text.sample(kv, "gauge", report.kvUsage);
  const prefix = old ? "vllm:gpu_prefix_cache" : "vllm:prefix_cache";
  text.sample(`${prefix}_queries_total`, "counter", report.cacheQueryTokens);
  text.sample(`${prefix}_hits_total`, "counter", report.cacheHitTokens);
  text.sample("vllm:num_preemptions_total", "counter", counters.preempted);
  text.sample("vllm:prompt_tokens_total", "counter", counters.promptTokens);
  text.sample("vllm:generation_tokens_total", "counter", counters.generationTokens);
  text.histogram("vllm:iteration_tokens_total", counters.stepTokens, counters.steps);
  text.sample(
    "vllm:cache_config_info",
    "gauge",
    1,
    `block_size="${BLOCK_TOKENS}",cache_dtype="auto",enable_prefix_caching="True",engine="0",` +
      `num_gpu_blocks="${engine.cache.capacityBlocks}"`,
  );
}

function writeSglang(text: MetricsText, engine: Engine): void {
  const { report, counters } = engine;
  text.sample("sglang:num_running_reqs", "gauge", report.running);
  text.sample("sglang:num_queue_reqs", "gauge", report.waiting);
  text.sample("sglang:token_usage", "gauge", report.kvUsage);
  const share = report.cacheQueryTokens > 0 ? report.cacheHitTokens / report.cacheQueryTokens : 0;
  text.sample("sglang:cache_hit_rate", "gauge", share);
  text.sample("sglang:prompt_tokens_total", "counter", counters.promptTokens);
  text.sample("sglang:generation_tokens_total", "counter", counters.generationTokens);
  text.sample("sglang:cached_tokens_total", "counter", report.cacheHitTokens);
}

function writeLlamacpp(text: MetricsText, engine: Engine): void {
  const { report, counters } = engine;
  text.sample("llamacpp:requests_processing", "gauge", report.running, "");
  text.sample("llamacpp:requests_deferred", "gauge", report.waiting, "");
  text.sample("llamacpp:kv_cache_usage_ratio", "gauge", report.kvUsage, "");
  text.sample("llamacpp:prompt_tokens_total", "counter", counters.promptTokens, "");
  text.sample("llamacpp:tokens_predicted_total", "counter", counters.generationTokens, "");
}

class MetricsText {
  private readonly labels: string;
  private text = "";

  constructor(model: string) {
    this.labels = `engine="0",model_name="${model}"`;
  }

  sample(name: string, kind: Kind, value: number, labels = this.labels): void {
    const set = labels === "" ? "" : `{${labels}}`;
    const help = name.replaceAll(/[:_]/g, " ");
    this.text += `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name}${set} ${format(value)}\n`;
  }

  /** Sum and count only; one bucket, as nobody here asks for more. */
  histogram(name: string, sum: number, count: number): void {
    this.text +=
      `# HELP ${name} ${name.replaceAll(/[:_]/g, " ")}\n# TYPE ${name} histogram\n` +
      `${name}_bucket{${this.labels},le="+Inf"} ${format(count)}\n` +
      `${name}_count{${this.labels}} ${format(count)}\n${name}_sum{${this.labels}} ${format(sum)}\n`;
  }

  done(): string {
    return this.text;
  }
}

/** As Python's client prints a float. */
function format(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : `${value}`;
}
