import { Signal } from "../config/signals";
import { ModelKind, ModelList } from "./models";
import { SeriesTable } from "./series";
import { capacity, requests } from "./values";

/** What one host says about itself. NaN: it doesn't say; that is not zero. */
export class HostReport {
  /** Requests in the running batches of its engines. */
  running: f64 = NaN;
  /** Requests that wait in its engines' queues. */
  waiting: f64 = NaN;
  /** Share of KV cache in use, mean over its engines, 0..1. */
  kvUsage: f64 = NaN;
  /** Share of time in which its GPUs worked, mean, 0..1. */
  gpuUtilization: f64 = NaN;
  /** Prompt tokens found in the prefix cache since start. */
  prefixHits: f64 = NaN;
  /** Prompt tokens looked up there since start. */
  prefixQueries: f64 = NaN;
  /** Prompt tokens since start. */
  promptTokens: f64 = NaN;
  /** Generated tokens since start. */
  generationTokens: f64 = NaN;
  /** Tokens over all engine steps since start. */
  iterationTokens: f64 = NaN;
  /** KV cache size over its engines, tokens. */
  capacityTokens: f64 = NaN;
  /** When its process started, s since 1970. */
  startTimeS: f64 = NaN;
  /** When its newest sample was taken, ms since 1970; NaN: now. Never later than now. */
  timestampMs: f64 = NaN;
  /** Names of models and adapters that it reported, 0..MAX_MODELS. */
  modelCount: i32 = 0;
  private models: ModelList | null = null;
  private slot: i32 = 0;

  /** `hashBytes` of a model's or adapter's name, i < modelCount. */
  modelHash(i: i32): u64 {
    const models = this.models;
    return models && i >= 0 && i < this.modelCount ? models.hash(this.slot, i) : 0;
  }

  /** Whether the name is a model or an adapter that is loaded (not one that only waits). */
  modelLoaded(i: i32): bool {
    const models = this.models;
    if (!models || i < 0 || i >= this.modelCount) return false;
    return models.kind(this.slot, i) != ModelKind.WaitingAdapter;
  }

  /** Whether the name is an adapter. */
  isAdapter(i: i32): bool {
    const models = this.models;
    if (!models || i < 0 || i >= this.modelCount) return false;
    return models.kind(this.slot, i) != ModelKind.Model;
  }

  /** Fills the report of a host in a slot. */
  fill(series: SeriesTable, models: ModelList, slot: i32, nowMs: f64): void {
    this.running = requests(series.value(slot, Signal.Running));
    this.waiting = requests(series.value(slot, Signal.Waiting));
    this.kvUsage = series.value(slot, Signal.KvUsage);
    this.gpuUtilization = series.value(slot, Signal.GpuUtilization);
    this.prefixHits = series.value(slot, Signal.PrefixHits);
    this.prefixQueries = series.value(slot, Signal.PrefixQueries);
    this.promptTokens = series.value(slot, Signal.PromptTokens);
    this.generationTokens = series.value(slot, Signal.GenerationTokens);
    this.iterationTokens = series.value(slot, Signal.IterationTokens);
    let tokens = series.value(slot, Signal.CapacityTokens);
    if (isNaN(tokens)) {
      tokens = series.value(slot, Signal.CacheBlocks) * series.value(slot, Signal.BlockTokens);
    }
    this.capacityTokens = capacity(tokens);
    const start = series.value(slot, Signal.StartTime);
    this.startTimeS = start > 0 ? start : NaN;
    const time = series.timeMs(slot);
    this.timestampMs = isFinite(time) && time < nowMs ? time : NaN;
    this.models = models;
    this.slot = slot;
    this.modelCount = models.count(slot);
  }
}
