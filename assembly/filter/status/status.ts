import { Text, equalsText, text } from "../../bytes";
import { nowMs } from "../../host/clock";
import { HeaderList } from "../../host/headerlist";
import { collectSoon } from "../../host/memory";
import { sendLocalResponse } from "../../host/stream";
import { REASONS, reasonName } from "../../policy/reason";
import { ENTRY_BYTES } from "../../state/entry";
import { factorOr1 } from "../../cost/speed";
import { Prediction } from "../../stats/prediction";
import { PAGE } from "./page";
import { Core } from "../core";
import { Peering } from "../peers/peering";
import { Tenants, tenantName } from "../admission/tenants";

const TYPE = text("content-type");
const JSON_TYPE = text("application/json");
const HTML_TYPE = text("text/html; charset=utf-8");
const CACHE = text("cache-control");
const NO_STORE = text("no-store");
const DETAILS = text("warmroute_status");

/**
 * Serves `status.path` (the page) and `<status.path>.json` (its data) from this VM's tables. Off unless a path is configured;
 * meant for a listener that only operators reach. It tells addresses and numbers: no prompts, keys or names of models.
 */
export class Status {
  private headers: HeaderList = new HeaderList(4, 256);

  constructor(
    private core: Core,
    private tenantWork: Tenants,
    private peering: Peering,
  ) {}

  /** Answers a GET of the page or of its data; false for any other path (without query). */
  answer(ptr: usize, len: i32): bool {
    const path = this.core.config.status.path;
    if (path.len == 0 || len < path.len || memory.compare(ptr, path.ptr, path.len) != 0)
      return false;
    const isPage = len == path.len;
    if (!isPage && !equalsText(ptr + path.len, len - path.len, JSON_SUFFIX)) return false;
    const body = text(isPage ? PAGE : this.data(nowMs()));
    this.headers.reset();
    this.headers.addText(TYPE, isPage ? HTML_TYPE : JSON_TYPE);
    this.headers.addText(CACHE, NO_STORE);
    sendLocalResponse(200, DETAILS, this.headers, body.ptr, body.len);
    collectSoon();
    return true;
  }

  private data(nowMs: f64): string {
    const core = this.core;
    const hosts = core.fleet.hosts;
    let list = "";
    for (let slot = 0; slot < hosts.count; slot++) {
      if (!hosts.isKnown(slot)) continue;
      if (list.length > 0) list += ",";
      list += this.host(slot, nowMs);
    }
    const stats = core.stats;
    const entries = stats.tableEntries.get();
    const bytes = entries * ENTRY_BYTES;
    const held = core.fleet.inFlight.held();
    const heldBytes = <i64>core.fleet.inFlight.heldBytes();
    return (
      `{"hosts":[${list}],"queue":{"length":${held},"bytes":${heldBytes}},` +
      `"table":{"entries":${entries},"bytes":${bytes}},` +
      `"tenants":[${this.tenants()}],` +
      `"peers":{"members":${this.peering.others},"heard":${core.fleet.peerLoads.heard},` +
      `"oldest_ms":${Math.round(core.fleet.peerLoads.oldestMs)}},` +
      `"decisions":{${this.decisions()}},` +
      `"tokens":{"prompt":${stats.promptTokens.get()},"cached_expected":${stats.expectedCached.get()},` +
      `"cached_reported":${stats.reportedCached.get()}},` +
      `"predictions":{"ttft_ms":${prediction(stats.ttftPrediction)},` +
      `"prompt_tokens":${prediction(stats.promptPrediction)},` +
      `"output_tokens":${prediction(stats.outputPrediction)}}}`
    );
  }

  /** Work of those tenants that have statistics of their own, of all workers. */
  private tenants(): string {
    const named = this.core.fleet.tenants;
    let list = "";
    for (let i = 0; i < named.count; i++) {
      if (i > 0) list += ",";
      list += `{"tenant":"${tenantName(named.at(i))}","work_ms":${this.tenantWork.workOf(i)}}`;
    }
    return list;
  }

  /** Requests by reason, of all workers. */
  private decisions(): string {
    let list = "";
    for (let reason = 0; reason < REASONS; reason++) {
      if (reason > 0) list += ",";
      list += `"${reasonName(reason)}":${this.core.stats.decisionsFor(reason)}`;
    }
    return list;
  }

  private host(slot: i32, nowMs: f64): string {
    const core = this.core;
    const fleet = core.fleet;
    const hosts = fleet.hosts;
    const record = fleet.states.at(slot);
    const cost = core.config.cost;
    const address = String.UTF8.decodeUnsafe(hosts.addressPtr(slot), hosts.addressLen(slot));
    const sampleMs = record.sampleMs;
    const reports = sampleMs > 0;
    const usable = !hosts.isUnhealthy(slot) && core.health.usable(slot, nowMs);
    const inFlight = fleet.inFlight.waiting(slot) + fleet.inFlight.decoding(slot);
    const prefillMs = cost.prefillMsPerToken * factorOr1(record.prefillFactor);
    const decodeMs =
      (cost.decodeStepMs + cost.decodeMsPerSequence) * factorOr1(record.decodeFactor);
    return (
      `{"host":"${address}"` +
      `,"running":${orNull(reports, record.running)}` +
      `,"waiting":${orNull(reports, record.waiting)}` +
      `,"kv_usage":${orNull(reports, record.kvUsage)}` +
      `,"gpu_utilization":${orNull(record.gpuSampleMs > 0, record.gpuUtilization)}` +
      `,"age_ms":${orNull(reports, Math.round(nowMs - sampleMs))}` +
      `,"stale":${core.decider.view.isStale(record, nowMs)}` +
      `,"usable":${usable}` +
      `,"in_flight":${inFlight}` +
      `,"prefill_ms_per_token":${learnedOrNull(record.prefillSamples, prefillMs)}` +
      `,"decode_ms_per_token":${learnedOrNull(record.decodeSamples, decodeMs)}` +
      `,"capacity_tokens":${Math.round(core.decider.view.caches.capacityTokens(slot))}` +
      `,"inserted_tokens":${Math.round(fleet.inFlight.clockTokens(slot))}}`
    );
  }
}

const JSON_SUFFIX: Text = text(".json");

/** Sums over what was predicted and then seen, of all workers. */
function prediction(sums: Prediction): string {
  const predicted = sums.predicted.get();
  return `{"predicted":${predicted},"observed":${sums.observed.get()},"missed":${sums.missed.get()}}`;
}

/** A number as JSON, null where it isn't known. */
function orNull(isKnown: bool, value: f64): string {
  return isKnown && isFinite(value) ? value.toString() : "null";
}

function learnedOrNull(samples: u32, value: f64): string {
  return orNull(samples > 0, value);
}
