import { Text, equalsOneOf, equalsText, lowerEquals, text } from "../bytes";
import { JsonScanner } from "../json/scanner";
import { JsonSink } from "../json/sink";
import { isBlank, skipBlanks } from "./find";
import { numberOk, parseNumber } from "../number";
import { requests, share } from "./values";

/** Response header that carries a load report. */
export const ORCA_HEADER = "endpoint-load-metrics";

/** Longest header value that is read, bytes. */
const MAX_VALUE_BYTES: i32 = 8192;

const NAMED = text("named_metrics");
/** The same in the JSON form of protobuf. */
const NAMED_CAMEL = text("namedMetrics");
const TEXT = text("text");
const JSON = text("json");

/** Names in a report, ours first. */
const KV_USAGE: StaticArray<Text> = [
  text("kv_cache_usage_perc"),
  text("kv_cache_utilization"),
  text("gpu_cache_usage_perc"),
  text("token_usage"),
];
const RUNNING: StaticArray<Text> = [text("num_requests_running"), text("num_running_reqs")];
const WAITING: StaticArray<Text> = [text("num_requests_waiting"), text("num_queue_reqs")];
const GPU: StaticArray<Text> = [text("gpu_utilization"), text("gpu_util")];

/**
 * Reads ORCA load reports from response headers, in both spellings that servers send:
 *
 *   TEXT cpu_utilization=0.3, named_metrics.kv_cache_usage_perc=0.4
 *   JSON {"cpu_utilization": 0.3, "named_metrics": {"kv_cache_usage_perc": 0.4}}
 *
 * Without a format word the first byte decides; the binary form is not read. vLLM names what it
 * sends `kv_cache_usage_perc` and `num_requests_waiting`.
 */
export class OrcaReader extends JsonSink {
  /** Requests running and waiting; NaN where the report doesn't say. */
  running: f64 = NaN;
  waiting: f64 = NaN;
  /** Shares, 0..1. */
  kvUsage: f64 = NaN;
  gpuUtilization: f64 = NaN;
  private scanner!: JsonScanner;
  private depth: i32 = 0;
  private inNamed: bool = false;
  private keyPtr: usize = 0;
  private keyLen: i32 = 0;
  private keyBytes: StaticArray<u8> = new StaticArray<u8>(64);

  constructor() {
    super();
    this.scanner = new JsonScanner(this);
  }

  /**
   * Reads one header value.
   * @returns whether it held a signal that is known here
   */
  read(ptr: usize, len: i32): bool {
    this.running = NaN;
    this.waiting = NaN;
    this.kvUsage = NaN;
    this.gpuUtilization = NaN;
    if (len > MAX_VALUE_BYTES) return false;
    const end = ptr + <usize>max(len, 0);
    ptr = skipBlanks(ptr, end);
    const word = ptr;
    while (ptr < end && <u32>(load<u8>(ptr) | 0x20) - 0x61 < 26) ptr++;
    const wordLen = <i32>(ptr - word);
    const isText = lowerEquals(word, wordLen, TEXT);
    const isJson = lowerEquals(word, wordLen, JSON);
    const body = skipBlanks(ptr, end);
    if (isJson || (word < end && load<u8>(word) == 0x7b)) this.readJson(body, end);
    else if (isText && body > ptr) this.readText(body, end);
    else this.readText(word, end);
    return !(
      isNaN(this.running) &&
      isNaN(this.waiting) &&
      isNaN(this.kvUsage) &&
      isNaN(this.gpuUtilization)
    );
  }

  private readText(ptr: usize, end: usize): void {
    while (ptr < end) {
      ptr = skipBlanks(ptr, end);
      const name = ptr;
      while (ptr < end && load<u8>(ptr) != 0x3d && load<u8>(ptr) != 0x2c) ptr++;
      const nameLen = trimmed(name, ptr);
      if (ptr < end && load<u8>(ptr) == 0x3d) {
        const value = skipBlanks(ptr + 1, end);
        ptr = value;
        while (ptr < end && load<u8>(ptr) != 0x2c) ptr++;
        const number = parseNumber(value, trimmed(value, ptr));
        if (numberOk) this.takeText(name, nameLen, number);
      }
      ptr++;
    }
  }

  private takeText(name: usize, len: i32, value: f64): void {
    if (
      len > NAMED.len &&
      load<u8>(name + NAMED.len) == 0x2e &&
      equalsText(name, NAMED.len, NAMED)
    ) {
      const skip = NAMED.len + 1;
      this.take(name + skip, len - skip, value);
    }
  }

  private readJson(ptr: usize, end: usize): void {
    this.depth = 0;
    this.inNamed = false;
    this.keyLen = 0;
    this.scanner.reset();
    this.scanner.feed(ptr, <i32>(end - ptr));
    this.scanner.finish();
  }

  onObjectStart(): void {
    this.depth++;
    if (this.depth != 2) return;
    this.inNamed =
      equalsText(this.keyPtr, this.keyLen, NAMED) ||
      equalsText(this.keyPtr, this.keyLen, NAMED_CAMEL);
  }

  onObjectEnd(): void {
    if (this.depth == 2) this.inNamed = false;
    this.depth--;
  }

  onArrayStart(): void {
    this.depth++;
  }

  onArrayEnd(): void {
    this.depth--;
  }

  onKey(ptr: usize, len: i32, cut: bool): void {
    this.keyLen = cut || len > this.keyBytes.length ? 0 : len;
    this.keyPtr = changetype<usize>(this.keyBytes);
    memory.copy(this.keyPtr, ptr, this.keyLen);
  }

  onNumber(ptr: usize, len: i32): void {
    if (!this.inNamed || this.depth != 2) return;
    const value = parseNumber(ptr, len);
    if (numberOk) this.take(this.keyPtr, this.keyLen, value);
  }

  private take(name: usize, len: i32, value: f64): void {
    if (!(value >= 0) || value == Infinity) return;
    if (equalsOneOf(name, len, KV_USAGE)) this.kvUsage = share(value, 0);
    else if (equalsOneOf(name, len, WAITING)) this.waiting = requests(value);
    else if (equalsOneOf(name, len, RUNNING)) this.running = requests(value);
    else if (equalsOneOf(name, len, GPU)) this.gpuUtilization = share(value, 0);
  }
}

/** Length of [ptr, end) without blanks at its end. */
function trimmed(ptr: usize, end: usize): i32 {
  while (end > ptr && isBlank(load<u8>(end - 1))) end--;
  return <i32>(end - ptr);
}
