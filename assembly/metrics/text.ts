import { findByte, isBlank, skipBlanks } from "./find";
import { LabelSet } from "./labels";
import { numberOk, parseNumber } from "../number";
import { NAME_HASH, SampleSink, nameHash, nameHashStep, timestampToMs } from "./samples";

/** Longest line that is read; longer ones are skipped and counted. */
const MAX_LINE_BYTES: i32 = 16384;

/**
 * Reads Prometheus and OpenMetrics text in chunks of any size.
 *
 *   name{label="value",…} value [timestamp] [# exemplar]
 *
 * Lenient where both formats and common exporters differ (blanks anywhere between tokens, trailing
 * commas, CRLF, no final line feed, names in quotes); a line that fits no format is counted and
 * skipped alone. Labels and values of metrics that nobody wants are not looked at.
 */
export class TextParser {
  /** Lines that are neither blank, comment nor sample. */
  malformed: i32 = 0;
  /** Lines skipped for their length. */
  tooLong: i32 = 0;
  private labels: LabelSet = new LabelSet();
  private carry: StaticArray<u8> = new StaticArray<u8>(MAX_LINE_BYTES);
  private carried: i32 = 0;
  private skipping: bool = false;
  private atStart: bool = true;
  /** Result of `parseString`. */
  private stringPtr: usize = 0;
  private stringLen: i32 = 0;
  /** Name that stood in quotes among the labels. */
  private quotedPtr: usize = 0;
  private quotedLen: i32 = 0;

  constructor(private sink: SampleSink) {}

  /** Starts on a new answer. */
  begin(): void {
    this.malformed = 0;
    this.tooLong = 0;
    this.carried = 0;
    this.skipping = false;
    this.atStart = true;
  }

  /** Reads the next bytes of the answer. */
  feed(ptr: usize, len: i32): void {
    const end = ptr + <usize>len;
    if (this.skipping || this.carried > 0) {
      const feedAt = findByte(ptr, end, 10);
      this.keep(ptr, <i32>(feedAt - ptr));
      if (feedAt == end) return;
      this.endCarried();
      ptr = feedAt + 1;
    }
    while (ptr < end) {
      const feedAt = findByte(ptr, end, 10);
      if (feedAt == end) {
        this.keep(ptr, <i32>(end - ptr));
        return;
      }
      if (<i32>(feedAt - ptr) > MAX_LINE_BYTES) this.tooLong++;
      else this.parseLine(ptr, feedAt);
      ptr = feedAt + 1;
    }
  }

  /** Ends the answer: a last line may lack its line feed. */
  finish(): void {
    if (this.skipping || this.carried > 0) this.endCarried();
  }

  /** Keeps a part of a line until its end comes. */
  private keep(ptr: usize, len: i32): void {
    if (this.skipping) return;
    if (len > MAX_LINE_BYTES - this.carried) {
      this.skipping = true;
      this.tooLong++;
      return;
    }
    memory.copy(changetype<usize>(this.carry) + this.carried, ptr, len);
    this.carried += len;
  }

  private endCarried(): void {
    const line = changetype<usize>(this.carry);
    if (!this.skipping) this.parseLine(line, line + this.carried);
    this.skipping = false;
    this.carried = 0;
  }

  private parseLine(ptr: usize, end: usize): void {
    if (this.atStart) {
      this.atStart = false;
      if (end - ptr >= 3 && load<u16>(ptr) == 0xbbef && load<u8>(ptr + 2) == 0xbf) ptr += 3;
    }
    while (end > ptr && isBlankOrCr(load<u8>(end - 1))) end--;
    ptr = skipBlanks(ptr, end);
    if (ptr >= end) return;
    const first = load<u8>(ptr);
    if (first == 0x23) return;
    if (!(first == 0x7b ? this.parseQuoted(ptr, end) : this.parsePlain(ptr, end))) this.malformed++;
  }

  /** `name …`; false if the line is no sample. */
  private parsePlain(ptr: usize, end: usize): bool {
    const name = ptr;
    let hash = NAME_HASH;
    let c: u32 = 0;
    for (; ptr < end; ptr++) {
      c = load<u8>(ptr);
      if (!isNameByte(c)) break;
      hash = nameHashStep(hash, c);
    }
    if (ptr == name || ptr == end || <u32>load<u8>(name) - 0x30 < 10) return false;
    if (c != 0x7b && !isBlank(c)) return false;
    const entry = this.sink.lookup(hash, name, <i32>(ptr - name));
    if (entry < 0) return true;
    this.labels.reset();
    ptr = skipBlanks(ptr, end);
    if (ptr < end && load<u8>(ptr) == 0x7b) {
      ptr = this.parseLabels(ptr + 1, end);
      if (ptr == 0 || this.quotedPtr != 0) return false;
    }
    return this.parseRest(entry, ptr, end);
  }

  /** `{"name",…} …`; false if the line is no sample. */
  private parseQuoted(ptr: usize, end: usize): bool {
    this.labels.reset();
    ptr = this.parseLabels(ptr + 1, end);
    if (ptr == 0 || this.quotedPtr == 0) return false;
    const hash = nameHash(this.quotedPtr, this.quotedLen);
    const entry = this.sink.lookup(hash, this.quotedPtr, this.quotedLen);
    return entry < 0 || this.parseRest(entry, ptr, end);
  }

  /** Value, timestamp and what may follow. */
  private parseRest(entry: i32, ptr: usize, end: usize): bool {
    ptr = skipBlanks(ptr, end);
    let stop = tokenEnd(ptr, end);
    const value = parseNumber(ptr, <i32>(stop - ptr));
    if (!numberOk || this.labels.overflow) return false;
    ptr = skipBlanks(stop, end);
    let timestampMs = NaN;
    if (ptr < end && load<u8>(ptr) != 0x23) {
      stop = tokenEnd(ptr, end);
      const timestamp = parseNumber(ptr, <i32>(stop - ptr));
      if (!isFinite(timestamp)) return false;
      timestampMs = timestampToMs(timestamp);
      ptr = skipBlanks(stop, end);
      if (ptr < end && load<u8>(ptr) != 0x23) return false;
    }
    this.sink.onSample(entry, this.labels, value, timestampMs);
    return true;
  }

  /** Reads labels up to the closing brace; returns the address after it, 0 if they are malformed. */
  private parseLabels(ptr: usize, end: usize): usize {
    this.quotedPtr = 0;
    while (true) {
      ptr = skipBlanks(ptr, end);
      if (ptr >= end) return 0;
      if (load<u8>(ptr) == 0x7d) return ptr + 1;
      let name = ptr;
      let nameLen = 0;
      const quoted = load<u8>(ptr) == 0x22;
      if (quoted) {
        ptr = this.parseString(ptr + 1, end);
        if (ptr == 0) return 0;
        name = this.stringPtr;
        nameLen = this.stringLen;
      } else {
        while (ptr < end && isNameByte(load<u8>(ptr))) ptr++;
        nameLen = <i32>(ptr - name);
        if (nameLen == 0) return 0;
      }
      ptr = skipBlanks(ptr, end);
      if (ptr < end && load<u8>(ptr) == 0x3d) {
        ptr = skipBlanks(ptr + 1, end);
        if (ptr >= end || load<u8>(ptr) != 0x22) return 0;
        ptr = this.parseString(ptr + 1, end);
        if (ptr == 0) return 0;
        this.labels.add(name, nameLen, this.stringPtr, this.stringLen);
        ptr = skipBlanks(ptr, end);
      } else {
        // A lone string among the labels is the metric's name.
        if (!quoted || this.quotedPtr != 0) return 0;
        this.quotedPtr = name;
        this.quotedLen = nameLen;
      }
      if (ptr >= end) return 0;
      if (load<u8>(ptr) == 0x2c) ptr++;
      else if (load<u8>(ptr) != 0x7d) return 0;
    }
  }

  /** Reads a string after its opening quote; returns the address after the closing one, else 0. */
  private parseString(ptr: usize, end: usize): usize {
    const start = ptr;
    let escaped = false;
    for (; ptr < end; ptr++) {
      const c = load<u8>(ptr);
      if (c == 0x22) break;
      if (c == 0x5c) {
        escaped = true;
        ptr++;
      }
    }
    if (ptr >= end) return 0;
    this.stringPtr = start;
    this.stringLen = <i32>(ptr - start);
    if (escaped) this.unescape(start, ptr);
    return ptr + 1;
  }

  /** `\\`, `\"` and `\n`; other escapes stand for themselves. */
  private unescape(ptr: usize, end: usize): void {
    const labels = this.labels;
    this.stringPtr = labels.top;
    while (ptr < end) {
      const slash = findByte(ptr, end, 0x5c);
      labels.append(ptr, <i32>(slash - ptr));
      if (slash >= end) break;
      const c = load<u8>(slash + 1);
      if (c == 0x6e) labels.append(LINE_FEED, 1);
      else if (c == 0x5c || c == 0x22) labels.append(slash + 1, 1);
      else labels.append(slash, 2);
      ptr = slash + 2;
    }
    this.stringLen = <i32>(labels.top - this.stringPtr);
  }
}

const LINE_FEED: usize = memory.data<u8>([10]);

@inline
function isBlankOrCr(c: u32): bool {
  return isBlank(c) || c == 0x0d;
}

@inline
function isNameByte(c: u32): bool {
  return (c | 0x20) - 0x61 < 26 || c - 0x30 < 11 || c == 0x5f;
}

/** End of the token at `ptr`: the next blank or the end of the line. */
@inline
function tokenEnd(ptr: usize, end: usize): usize {
  while (ptr < end && !isBlank(load<u8>(ptr))) ptr++;
  return ptr;
}
