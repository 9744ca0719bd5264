import { LevelSink } from "../json/sink";
import { equalsText, text } from "../bytes";
import { LabelSet } from "./labels";
import { numberOk, parseNumber } from "../number";
import { SampleSink, nameHash, timestampToMs } from "./samples";

const DATA = text("data");
const RESULT = text("result");
const METRIC = text("metric");
const VALUE = text("value");
const VALUES = text("values");
const NAME = text("__name__");

/** Longest spelling of a value. */
const VALUE_BYTES: i32 = 64;

/** Where in the answer the reader is. */
const enum Key {
  Other,
  Data,
  Result,
  Metric,
  Value,
  Values,
}

/**
 * Reads Prometheus' query answers:
 *
 *   {"status":"success","data":{"resultType":"vector","result":[
 *     {"metric":{"__name__":"…","instance":"…"},"value":[1790000295.781,"9"]}]}}
 *
 * Of a matrix (`values`, a list of pairs) the last pair counts. The keys may come in any order.
 */
export class QuerySink extends LevelSink {
  /** Results that hold no readable value. */
  malformed: i32 = 0;
  private labels: LabelSet = new LabelSet();
  /** Levels open; the keys and items above, up to the result's own fields, are in `path`. */
  private depth: i32 = 0;
  private inPath: i32 = 0;
  private key: Key = Key.Other;
  private stringStart: usize = 0;
  private labelName: usize = 0;
  private labelNameLen: i32 = 0;
  private item: i32 = 0;
  private valueBytes: StaticArray<u8> = new StaticArray<u8>(VALUE_BYTES);
  private valueLen: i32 = 0;
  private timestamp: f64 = NaN;

  constructor(private sink: SampleSink) {
    super();
  }

  /** Starts on a new answer. */
  begin(): void {
    this.malformed = 0;
    this.depth = 0;
    this.inPath = 0;
    this.key = Key.Other;
    this.item = 0;
    this.valueLen = 0;
  }

  /*
   * Depths, outermost value = 1; `inPath` counts how many of them are the ones looked for.
   *
   *   1 {  "data":
   *   2   {  "result":
   *   3     [
   *   4       {  "metric": / "value": / "values":
   *   5         { labels }  or  [ timestamp, "value" ]  or  [
   *   6           [ timestamp, "value" ]
   */
  protected open(isObject: bool): void {
    const depth = ++this.depth;
    if (this.inPath != depth - 1) return;
    switch (depth) {
      case 1:
        if (isObject) this.inPath = 1;
        break;
      case 2:
        if (isObject && this.key == Key.Data) this.inPath = 2;
        break;
      case 3:
        if (!isObject && this.key == Key.Result) this.inPath = 3;
        break;
      case 4:
        if (isObject) {
          this.inPath = 4;
          this.labels.reset();
          this.valueLen = 0;
          this.timestamp = NaN;
        }
        break;
      case 5:
        if (isObject ? this.key == Key.Metric : this.key == Key.Value || this.key == Key.Values) {
          this.inPath = 5;
          this.item = 0;
        }
        break;
      case 6:
        if (!isObject && this.key == Key.Values) {
          this.inPath = 6;
          this.item = 0;
        }
        break;
    }
    if (depth <= 4) this.key = Key.Other;
  }

  protected close(): void {
    if (this.inPath == this.depth) {
      if (this.depth == 4) this.emit();
      this.inPath--;
    }
    this.depth--;
  }

  onKey(ptr: usize, len: i32, cut: bool): void {
    if (this.inPath != this.depth) return;
    switch (this.depth) {
      case 1:
        this.key = equalsText(ptr, len, DATA) ? Key.Data : Key.Other;
        break;
      case 2:
        this.key = equalsText(ptr, len, RESULT) ? Key.Result : Key.Other;
        break;
      case 4:
        this.key = resultKey(ptr, len);
        break;
      case 5:
        this.labelNameLen = cut ? 0 : len;
        this.labelName = this.labels.top;
        if (!cut) this.labels.append(ptr, len);
        break;
    }
  }

  onStringStart(): void {
    if (this.inPath != this.depth) return;
    if (this.isPair) {
      if (this.item == 1) this.valueLen = 0;
    } else if (this.depth == 5 && this.key == Key.Metric) {
      this.stringStart = this.labels.top;
    }
  }

  onStringBytes(ptr: usize, len: i32): void {
    if (this.inPath != this.depth) return;
    if (this.isPair) {
      if (this.item == 1) this.appendValue(ptr, len);
    } else if (this.depth == 5 && this.key == Key.Metric) {
      this.labels.append(ptr, len);
    }
  }

  onStringEnd(): void {
    if (this.inPath != this.depth) return;
    if (this.isPair) {
      this.item++;
    } else if (this.depth == 5 && this.key == Key.Metric && !this.labels.overflow) {
      const len = <i32>(this.labels.top - this.stringStart);
      this.labels.add(this.labelName, this.labelNameLen, this.stringStart, len);
    }
  }

  onNumber(ptr: usize, len: i32): void {
    if (this.inPath != this.depth || !this.isPair) return;
    if (this.item == 0) {
      this.timestamp = parseNumber(ptr, len);
    } else if (this.item == 1) {
      this.valueLen = 0;
      this.appendValue(ptr, len);
    }
    this.item++;
  }

  /** Whether the reader is inside `[timestamp, value]`. */
  private get isPair(): bool {
    return this.depth == 6 || (this.depth == 5 && this.key == Key.Value);
  }

  private appendValue(ptr: usize, len: i32): void {
    if (len > VALUE_BYTES - this.valueLen) len = VALUE_BYTES - this.valueLen;
    memory.copy(changetype<usize>(this.valueBytes) + this.valueLen, ptr, len);
    this.valueLen += len;
  }

  private emit(): void {
    const labels = this.labels;
    if (labels.overflow) {
      this.malformed++;
      return;
    }
    const name = labels.find(NAME);
    if (name < 0) return;
    const ptr = labels.valuePtr(name);
    const len = labels.valueLen(name);
    const entry = this.sink.lookup(nameHash(ptr, len), ptr, len);
    if (entry < 0) return;
    const value = parseNumber(changetype<usize>(this.valueBytes), this.valueLen);
    if (!numberOk || this.valueLen >= VALUE_BYTES) {
      this.malformed++;
      return;
    }
    const timestampMs = isFinite(this.timestamp) ? timestampToMs(this.timestamp) : NaN;
    this.sink.onSample(entry, labels, value, timestampMs);
  }
}

function resultKey(ptr: usize, len: i32): Key {
  if (equalsText(ptr, len, METRIC)) return Key.Metric;
  if (equalsText(ptr, len, VALUE)) return Key.Value;
  return equalsText(ptr, len, VALUES) ? Key.Values : Key.Other;
}
