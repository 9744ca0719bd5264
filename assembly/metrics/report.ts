import { Text, text } from "../bytes";
import { Signal } from "../config/signals";
import { JsonScanner, ScanState } from "../json/scanner";
import { hashBytes } from "../prefix/hash";
import { engineHash } from "./identity";
import { LabelSet } from "./labels";
import { HostMatcher } from "./matcher";
import { ModelKind, ModelList } from "./models";
import { MetricNameTable } from "./names";
import { QuerySink } from "./query";
import { HostReport } from "./hostreport";
import { SampleSink } from "./samples";
import { SAME_HOST_WINDOW_MS, SeriesTable } from "./series";
import { TextParser } from "./text";
import { cacheTokens, share } from "./values";

export { HostReport };

/** Hosts that one reader can tell apart. */
export const MAX_REPORTS: i32 = 512;

const MODEL_NAME = text("model_name");
const RUNNING_ADAPTERS = text("running_lora_adapters");
const WAITING_ADAPTERS = text("waiting_lora_adapters");

/** Bytes of the host label that are kept. */
const ADDRESS_BYTES: i32 = 64;

/**
 * Reads the answer of a metrics source, Prometheus text or `/api/v1/query` JSON, in chunks of any
 * size, into one report per host. Made once and reused for each answer.
 */
export class MetricsReader extends SampleSink {
  /** Hosts that the answer reports, in order of appearance. */
  count: i32 = 0;
  /** Samples of wanted metrics, of known hosts. */
  matched: i32 = 0;
  /** Samples of wanted metrics without the host label, and with one that names no known host. */
  unlabelled: i32 = 0;
  strange: i32 = 0;
  /** Some sample was one that only an inference server has, of whatever host. */
  sawEngine: bool = false;
  private series: SeriesTable;
  private models: ModelList;
  private textParser!: TextParser;
  private query!: QuerySink;
  private scanner!: JsonScanner;
  private hosts: StaticArray<i32>;
  private slots: StaticArray<i32>;
  private addresses: StaticArray<u8>;
  private addressLens: StaticArray<i32>;
  private filled: HostReport = new HostReport();
  private nowMs: f64 = 0;
  private sniffed: bool = false;
  private isJson: bool = false;

  /**
   * @param names which metrics to read
   * @param matcher null: the answer is one backend's own, whatever its labels and timestamps; else
   * it is an endpoint's answer about many, and the matcher knows them by `hostLabel`
   * @param maxHosts the matcher's numbers are below this; 1..MAX_REPORTS
   */
  constructor(
    private names: MetricNameTable,
    private matcher: HostMatcher | null = null,
    private hostLabel: Text = text("instance"),
    private maxHosts: i32 = MAX_REPORTS,
  ) {
    super();
    const slots = matcher ? min(max(maxHosts, 1), MAX_REPORTS) : 1;
    this.maxHosts = slots;
    this.series = new SeriesTable(slots);
    this.models = new ModelList(slots);
    this.hosts = new StaticArray<i32>(slots);
    this.slots = new StaticArray<i32>(slots);
    this.addresses = new StaticArray<u8>(slots * ADDRESS_BYTES);
    this.addressLens = new StaticArray<i32>(slots);
    this.textParser = new TextParser(this);
    this.query = new QuerySink(this);
    this.scanner = new JsonScanner(this.query);
  }

  /**
   * Starts on a new answer.
   * @param nowMs ms since 1970: the time of samples that carry none
   */
  begin(nowMs: f64): void {
    this.nowMs = nowMs;
    this.matched = 0;
    this.unlabelled = 0;
    this.strange = 0;
    this.sawEngine = false;
    this.count = 0;
    this.series.reset();
    for (let i = 0; i < this.maxHosts; i++) unchecked((this.slots[i] = -1));
    this.textParser.begin();
    this.query.begin();
    this.scanner.reset();
    this.sniffed = false;
    this.isJson = false;
    if (!this.matcher) this.slotOf(0);
  }

  /** Reads the next bytes of the answer's body. */
  feed(ptr: usize, len: i32): void {
    if (len <= 0) return;
    if (!this.sniffed) this.sniff(ptr, len);
    // Text may begin with a brace too (a name in quotes); each reader finds nothing in the other's.
    if (this.isJson) this.scanner.feed(ptr, len);
    this.textParser.feed(ptr, len);
  }

  /**
   * Ends the answer and adds up what it said.
   * @returns whether it held anything that was asked for
   */
  finish(): bool {
    this.textParser.finish();
    if (this.isJson && this.scanner.finish() == ScanState.Malformed) this.isJson = false;
    this.series.total();
    for (let i = 0; i < this.count; i++) {
      this.models.clearBefore(i, this.series.timeMs(i) - SAME_HOST_WINDOW_MS);
    }
    return this.matched > 0;
  }

  /** Lines or results that could not be read. */
  get malformed(): i32 {
    return this.isJson ? this.query.malformed : this.textParser.malformed + this.textParser.tooLong;
  }

  /** Series that were left out because there were too many. */
  get dropped(): i32 {
    return this.series.dropped;
  }

  /** The matcher's number of host i; 0 for a backend's own answer. */
  host(i: i32): i32 {
    return unchecked(this.hosts[i]);
  }

  /** The value of the host label by which host i was first found. */
  addressPtr(i: i32): usize {
    return changetype<usize>(this.addresses) + <usize>(i * ADDRESS_BYTES);
  }

  /** Its length in bytes, at most 64. */
  addressLen(i: i32): i32 {
    return unchecked(this.addressLens[i]);
  }

  /** The report of host i, valid until the next call. */
  report(i: i32): HostReport {
    this.filled.fill(this.series, this.models, i, this.nowMs);
    return this.filled;
  }

  lookup(hash: u32, ptr: usize, len: i32): i32 {
    return this.names.find(hash, ptr, len);
  }

  onSample(entry: i32, labels: LabelSet, value: f64, timestampMs: f64): void {
    const signal = this.names.signal(entry);
    if (signal <= Signal.KvUsage) this.sawEngine = true;
    const slot = this.matcher ? this.findSlot(labels, signal) : 0;
    if (slot < 0) return;
    // A backend's own answer is of now, whatever clock it stamps its samples by.
    const isPast = this.matcher !== null && timestampMs < this.nowMs;
    const timeMs = isPast ? timestampMs : this.nowMs;
    const engine = engineHash(labels);
    for (; entry >= 0; entry = this.names.next(entry)) {
      if (!this.names.accepts(entry, labels)) continue;
      this.matched++;
      this.take(slot, entry, engine, labels, value, timeMs);
    }
  }

  private take(
    slot: i32,
    entry: i32,
    engine: u64,
    labels: LabelSet,
    value: f64,
    timeMs: f64,
  ): void {
    const signal = this.names.signal(entry);
    let kept = signal;
    const scale = this.names.scale(entry);
    switch (signal) {
      case Signal.KvUsage:
      case Signal.GpuUtilization:
        value = share(value, scale);
        break;
      case Signal.CacheInfo:
        value = cacheTokens(labels);
        kept = Signal.CapacityTokens;
        break;
      case Signal.LoraInfo:
        if (this.series.put(slot, signal, engine, 0, timeMs, value)) {
          this.takeAdapters(slot, engine, labels, timeMs);
        }
        return;
      default:
        value = value >= 0 && value < Infinity ? (scale > 0 ? value * scale : value) : NaN;
    }
    this.series.put(slot, kept, engine, this.names.rank(entry), timeMs, value);
    if (signal == Signal.Running || signal == Signal.Waiting || signal == Signal.CacheInfo) {
      const model = labels.find(MODEL_NAME);
      if (model >= 0) this.addName(slot, engine, labels, model, ModelKind.Model, timeMs);
    }
  }

  /** The newest `lora_requests_info` of an engine holds all of its adapters; its value is the time. */
  private takeAdapters(slot: i32, engine: u64, labels: LabelSet, timeMs: f64): void {
    this.models.clearAdapters(slot, engine);
    const waiting = labels.find(WAITING_ADAPTERS);
    const running = labels.find(RUNNING_ADAPTERS);
    if (waiting >= 0) {
      this.addName(slot, engine, labels, waiting, ModelKind.WaitingAdapter, timeMs);
    }
    if (running >= 0) {
      this.addName(slot, engine, labels, running, ModelKind.LoadedAdapter, timeMs);
    }
  }

  /** Adds a model's name, or adapters' names parted by commas. */
  private addName(
    slot: i32,
    engine: u64,
    labels: LabelSet,
    at: i32,
    kind: ModelKind,
    timeMs: f64,
  ): void {
    let ptr = labels.valuePtr(at);
    const end = ptr + <usize>labels.valueLen(at);
    while (ptr < end) {
      while (ptr < end && load<u8>(ptr) == 0x20) ptr++;
      const start = ptr;
      while (ptr < end && (kind == ModelKind.Model || load<u8>(ptr) != 0x2c)) ptr++;
      let stop = ptr++;
      while (stop > start && load<u8>(stop - 1) == 0x20) stop--;
      const len = <i32>(stop - start);
      if (len > 0) this.models.add(slot, engine, hashBytes(start, len), kind, timeMs);
    }
  }

  /** Slot of the host that the labels name, -1 if it is none of ours. */
  private findSlot(labels: LabelSet, signal: Signal): i32 {
    const matcher = this.matcher;
    const at = labels.find(this.hostLabel);
    if (!matcher || at < 0) {
      this.unlabelled++;
      return -1;
    }
    const host = matcher.find(labels.valuePtr(at), labels.valueLen(at), signal);
    if (host < 0 || host >= this.maxHosts) {
      this.strange++;
      return -1;
    }
    const fresh = unchecked(this.slots[host]) < 0;
    const slot = this.slotOf(host);
    if (fresh) {
      const len = min(labels.valueLen(at), ADDRESS_BYTES);
      memory.copy(this.addressPtr(slot), labels.valuePtr(at), len);
      unchecked((this.addressLens[slot] = len));
    }
    return slot;
  }

  private slotOf(host: i32): i32 {
    let slot = unchecked(this.slots[host]);
    if (slot >= 0) return slot;
    slot = this.count++;
    unchecked((this.slots[host] = slot));
    unchecked((this.hosts[slot] = host));
    unchecked((this.addressLens[slot] = 0));
    this.models.clear(slot);
    return slot;
  }

  /** An answer whose first byte besides blanks and a byte order mark is a brace may be JSON. */
  private sniff(ptr: usize, len: i32): void {
    for (let i: usize = 0; i < <usize>len; i++) {
      const c = load<u8>(ptr + i);
      if (c == 0x20 || (c >= 9 && c <= 13) || c == 0xef || c == 0xbb || c == 0xbf) continue;
      this.sniffed = true;
      this.isJson = c == 0x7b;
      return;
    }
  }
}
