/**
 * A resumable JSON scanner: bytes come in pieces cut anywhere, a sink is told what they say. It
 * accepts what `JSON.parse(new TextDecoder().decode(bytes))` accepts, down to 16,384 levels, and
 * needs no memory for what it has read.
 */
import { numberMayEnd, numberStep, NumberAt } from "./numbers";
import { JsonSink } from "./sink";
import { copyShort, skipPlain, special } from "./skip";
import { StringEnd, StringReader } from "./strings";

export { MAX_KEY_BYTES } from "./strings";

/** Deepest nesting that is read, in arrays and objects around a value. */
export const MAX_DEPTH: i32 = 16384;
/** Longest spelling of a number that comes whole, in bytes. */
export const MAX_NUMBER_BYTES: i32 = 64;

/** How far is looked for the end of a short string, in bytes. */
const SHORT: usize = 128;

export const enum ScanState {
  /** No error so far. */
  Reading,
  /** Exactly one value was read. */
  Complete,
  /** Not JSON. */
  Malformed,
  /** Nested deeper than `MAX_DEPTH`. */
  TooDeep,
}

const enum At {
  // Inside something: read by other means.
  Text,
  KeyText,
  Number,
  // Between: read byte by byte.
  Start,
  Bom,
  Value,
  FirstItem,
  FirstKey,
  Key,
  Colon,
  After,
  Literal,
  Done,
}

export class JsonScanner {
  state: ScanState = ScanState.Reading;
  /** Arrays and objects open now. */
  depth: i32 = 0;

  private at: At = At.Start;
  private inObject: bool = false;
  /** One bit per level: 1 where it is an object. */
  private levels: StaticArray<u32> = new StaticArray<u32>(MAX_DEPTH >> 5);
  private strings: StringReader;
  private number: NumberAt = NumberAt.Stop;
  private numberBytes: StaticArray<u8> = new StaticArray<u8>(MAX_NUMBER_BYTES);
  private numberLen: i32 = 0;
  /** Bytes of the literal or byte order mark still to come, little-endian. */
  private expected: u32 = 0;
  private literal: u32 = 0;

  constructor(private sink: JsonSink) {
    this.strings = new StringReader(sink);
  }

  /** While true, strings are checked but their bytes aren't given. */
  get skipStrings(): bool {
    return this.strings.skip;
  }
  set skipStrings(skip: bool) {
    this.strings.skip = skip;
  }

  /** In `onStringBytes` and `onKey`: whether no character of the text needs an escape. */
  get isPlain(): bool {
    return this.strings.isPlain;
  }

  /** In `onStringBytes`: bytes of the span minus its code points. */
  get spanTails(): i32 {
    return this.strings.tails;
  }

  /** Ready for another document. */
  reset(): void {
    this.state = ScanState.Reading;
    this.depth = 0;
    this.at = At.Start;
    this.inObject = false;
    this.numberLen = 0;
    this.strings.reset();
  }

  /** Reads the next `len` bytes; does nothing after an error. */
  feed(ptr: usize, len: i32): void {
    if (this.state != ScanState.Reading || len <= 0) return;
    const end = ptr + len;
    let p = ptr;
    while (p < end) {
      const at = this.at;
      if (at == At.Text || at == At.KeyText) {
        p = this.strings.read(p, end);
        if (this.strings.outcome == StringEnd.Broken) this.fail();
        else if (this.strings.outcome == StringEnd.Closed) {
          if (at == At.Text) {
            this.at = this.after();
            this.sink.onStringEnd();
          } else this.at = At.Colon;
        }
      } else if (at == At.Number) {
        p = this.readNumber(p, end);
      } else p = this.readStructure(p, end);
      if (this.state != ScanState.Reading) return;
    }
  }

  /** Call behind the last byte: `Complete` only if exactly one value was read. */
  finish(): ScanState {
    if (this.state != ScanState.Reading) return this.state;
    if (this.at == At.Number && this.depth == 0) {
      this.endNumber(0, 0);
      if (this.state != ScanState.Reading) return this.state;
    }
    this.state = this.at == At.Done ? ScanState.Complete : ScanState.Malformed;
    return this.state;
  }

  private fail(): void {
    this.state = ScanState.Malformed;
    this.at = At.Text;
  }

  @inline
  private after(): At {
    return this.depth == 0 ? At.Done : At.After;
  }

  /**
   * Bytes outside strings and numbers, and with them what is short and plain: most keys and values,
   * whole numbers. Stops where something longer begins.
   */
  private readStructure(start: usize, end: usize): usize {
    const strings = this.strings;
    let p = start;
    do {
      const c = <u32>load<u8>(p);
      const at = this.at;
      if (at == At.Colon && c == 0x3a) this.at = At.Value;
      else if (at == At.After && c == 0x2c) this.at = this.inObject ? At.Key : At.Value;
      else if (c == 0x22 && (at == At.Key || at == At.FirstKey)) {
        const quote = shortEnd(p + 1, end);
        if (quote < end && load<u8>(quote) == 0x22) {
          this.at = At.Colon;
          strings.isPlain = true;
          this.sink.onKey(p + 1, <i32>(quote - p) - 1, false);
          p = quote;
        } else this.structure(c);
      } else if (c == 0x22 && (at == At.Value || at == At.FirstItem)) {
        const quote = shortEnd(p + 1, end);
        if (quote < end && load<u8>(quote) == 0x22) {
          this.at = this.after();
          strings.giveWhole(p + 1, <i32>(quote - p) - 1);
          p = quote;
        } else this.structure(c);
      } else if (c - 0x31 <= 8 && (at == At.Value || at == At.FirstItem)) {
        const stop = wholeNumberEnd(p, end);
        if (stop != 0) {
          this.at = this.after();
          this.sink.onNumber(p, <i32>(stop - p));
          p = stop - 1;
        } else this.structure(c);
      } else this.structure(c);
      if (this.at == At.Number) return p;
      p++;
    } while (p < end && this.at > At.Number);
    return p;
  }

  /** One byte outside strings and numbers. */
  private structure(c: u32): void {
    const at = this.at;
    if (c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09) {
      if (at == At.Start) this.at = At.Value;
      else if (at == At.Literal || at == At.Bom) this.fail();
      return;
    }
    switch (at) {
      case At.After:
        if (c == 0x2c) this.at = this.inObject ? At.Key : At.Value;
        else if (c == 0x7d && this.inObject) this.closeLevel();
        else if (c == 0x5d && !this.inObject) this.closeLevel();
        else this.fail();
        return;
      case At.FirstKey:
        if (c == 0x7d) {
          this.closeLevel();
          return;
        }
      case At.Key:
        if (c == 0x22) {
          this.at = At.KeyText;
          this.strings.begin(true);
        } else this.fail();
        return;
      case At.Colon:
        if (c == 0x3a) this.at = At.Value;
        else this.fail();
        return;
      case At.FirstItem:
        if (c == 0x5d) this.closeLevel();
        else this.startValue(c);
        return;
      case At.Start:
        if (c == 0xef) {
          this.at = At.Bom;
          this.expected = 0xbfbb;
          return;
        }
      case At.Value:
        this.startValue(c);
        return;
      case At.Bom:
      case At.Literal:
        if (c != (this.expected & 0xff)) {
          this.fail();
          return;
        }
        this.expected >>= 8;
        if (this.expected == 0) this.endLiteral();
        return;
      default:
        this.fail();
    }
  }

  private startValue(c: u32): void {
    switch (c) {
      case 0x22:
        this.at = At.Text;
        this.strings.begin(false);
        this.sink.onStringStart();
        return;
      case 0x7b:
        if (this.openLevel(true)) this.sink.onObjectStart();
        return;
      case 0x5b:
        if (this.openLevel(false)) this.sink.onArrayStart();
        return;
      case 0x74:
        this.expectLiteral(c, 0x657572);
        return;
      case 0x66:
        this.expectLiteral(c, 0x65736c61);
        return;
      case 0x6e:
        this.expectLiteral(c, 0x6c6c75);
        return;
      default:
        if (c != 0x2d && c - 0x30 > 9) {
          this.fail();
          return;
        }
        this.at = At.Number;
        this.number = NumberAt.Sign;
        this.numberLen = 0;
    }
  }

  private openLevel(isObject: bool): bool {
    if (this.depth == MAX_DEPTH) {
      this.state = ScanState.TooDeep;
      this.at = At.Text;
      return false;
    }
    const word = this.depth >> 5;
    const bit = <u32>1 << (this.depth & 31);
    const before = unchecked(this.levels[word]);
    unchecked((this.levels[word] = isObject ? before | bit : before & ~bit));
    this.depth++;
    this.inObject = isObject;
    this.at = isObject ? At.FirstKey : At.FirstItem;
    return true;
  }

  private closeLevel(): void {
    const wasObject = this.inObject;
    const depth = --this.depth;
    if (depth > 0) {
      const outer = depth - 1;
      this.inObject = ((unchecked(this.levels[outer >> 5]) >> (outer & 31)) & 1) != 0;
      this.at = At.After;
    } else {
      this.inObject = false;
      this.at = At.Done;
    }
    if (wasObject) this.sink.onObjectEnd();
    else this.sink.onArrayEnd();
  }

  private expectLiteral(first: u32, rest: u32): void {
    this.at = At.Literal;
    this.literal = first;
    this.expected = rest;
  }

  private endLiteral(): void {
    if (this.at == At.Bom) {
      this.at = At.Value;
      return;
    }
    this.at = this.after();
    if (this.literal == 0x74) this.sink.onTrue();
    else if (this.literal == 0x66) this.sink.onFalse();
    else this.sink.onNull();
  }

  /** Bytes of a number; stops in front of the first that isn't. */
  private readNumber(start: usize, end: usize): usize {
    let p = start;
    let at = this.number;
    if (at == NumberAt.Sign && load<u8>(p) == 0x2d && this.numberLen == 0) p++;
    if (at == NumberAt.Whole || (p < end && at == NumberAt.Sign && load<u8>(p) - 0x31 <= 8)) {
      at = NumberAt.Whole;
      while (p < end && load<u8>(p) - 0x30 <= 9) p++;
    }
    while (p < end) {
      const next = numberStep(at, load<u8>(p));
      if (next == NumberAt.Stop) {
        this.number = at;
        this.endNumber(start, <i32>(p - start));
        return p;
      }
      at = next;
      p++;
    }
    this.number = at;
    this.keepNumber(start, <i32>(p - start));
    return p;
  }

  private keepNumber(ptr: usize, len: i32): void {
    const room = min(len, MAX_NUMBER_BYTES - this.numberLen);
    copyShort(changetype<usize>(this.numberBytes) + this.numberLen, ptr, room);
    this.numberLen += room;
  }

  private endNumber(ptr: usize, len: i32): void {
    if (!numberMayEnd(this.number)) {
      this.fail();
      return;
    }
    this.at = this.after();
    if (this.numberLen == 0) {
      this.sink.onNumber(ptr, min(len, MAX_NUMBER_BYTES));
      return;
    }
    this.keepNumber(ptr, len);
    this.sink.onNumber(changetype<usize>(this.numberBytes), this.numberLen);
  }
}

/** The end of the plain content that begins at `p`, looked for in the next bytes only. */
@inline
function shortEnd(p: usize, end: usize): usize {
  if (p + 16 <= end) {
    const mask = i8x16.bitmask(special(v128.load(p)));
    if (mask != 0) return p + ctz(mask);
  }
  return skipPlain(p, min(end, p + SHORT));
}

/** The end of a whole number that is complete in this chunk and not too long, or 0. */
@inline
function wholeNumberEnd(start: usize, end: usize): usize {
  const limit = min(end, start + MAX_NUMBER_BYTES);
  let p = start + 1;
  if (p + 8 <= end) {
    const x = load<u64>(p) ^ 0x3030303030303030;
    const others = (x | ((x & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676)) & 0x8080808080808080;
    p += others == 0 ? 8 : <usize>(ctz(others) >> 3);
  }
  while (p < limit && <u32>load<u8>(p) - 0x30 <= 9) p++;
  if (p >= limit) return 0;
  const c = <u32>load<u8>(p);
  return c == 0x2e || (c | 0x20) == 0x65 ? 0 : p;
}
