/**
 * A resumable JSON scanner: bytes come in pieces cut anywhere, a sink is told what they say. It
 * accepts what `JSON.parse(new TextDecoder().decode(bytes))` accepts, down to `MAX_DEPTH` levels, and
 * needs no memory for what it has read.
 */
import { Levels } from "./levels";
import { restOfLiteral } from "./literals";
import { NumberReader, wholeNumberEnd } from "./numbers";
import { JsonSink } from "./sink";
import { shortEnd } from "./skip";
import { StringEnd, StringReader } from "./strings";

export { MAX_DEPTH } from "./levels";
export { MAX_NUMBER_BYTES } from "./numbers";
export { MAX_KEY_BYTES } from "./keybuffer";

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

  private at: At = At.Start;
  private levels: Levels = new Levels();
  private strings: StringReader;
  private numbers: NumberReader;
  /** Bytes of the literal or byte order mark still to come, little-endian. */
  private expected: u32 = 0;
  private literal: u32 = 0;

  constructor(private sink: JsonSink) {
    this.strings = new StringReader(sink);
    this.numbers = new NumberReader();
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
    this.levels.reset();
    this.at = At.Start;
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
        p = this.numbers.read(p, end);
        if (this.numbers.isDone) this.endNumber();
      } else p = this.readStructure(p, end);
      if (this.state != ScanState.Reading) return;
    }
  }

  /** Call behind the last byte: `Complete` only if exactly one value was read. */
  finish(): ScanState {
    if (this.state != ScanState.Reading) return this.state;
    if (this.at == At.Number && this.levels.depth == 0) {
      this.numbers.end(0, 0);
      this.endNumber();
      if (this.state != ScanState.Reading) return this.state;
    }
    this.state = this.at == At.Done ? ScanState.Complete : ScanState.Malformed;
    return this.state;
  }

  private fail(state: ScanState = ScanState.Malformed): void {
    this.state = state;
    this.at = At.Text;
  }

  @inline
  private after(): At {
    return this.levels.depth == 0 ? At.Done : At.After;
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
      else if (at == At.After && c == 0x2c) this.at = this.levels.inObject ? At.Key : At.Value;
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
        if (c == 0x2c) this.at = this.levels.inObject ? At.Key : At.Value;
        else if (c == 0x7d && this.levels.inObject) this.closeLevel();
        else if (c == 0x5d && !this.levels.inObject) this.closeLevel();
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
      default:
        this.expected = restOfLiteral(c);
        if (this.expected != 0) {
          this.at = At.Literal;
          this.literal = c;
        } else if (c == 0x2d || c - 0x30 <= 9) {
          this.at = At.Number;
          this.numbers.begin();
        } else this.fail();
    }
  }

  private openLevel(isObject: bool): bool {
    if (!this.levels.push(isObject)) {
      this.fail(ScanState.TooDeep);
      return false;
    }
    this.at = isObject ? At.FirstKey : At.FirstItem;
    return true;
  }

  private closeLevel(): void {
    const wasObject = this.levels.inObject;
    this.levels.pop();
    this.at = this.after();
    if (wasObject) this.sink.onObjectEnd();
    else this.sink.onArrayEnd();
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

  private endNumber(): void {
    const numbers = this.numbers;
    if (!numbers.isValid) {
      this.fail();
      return;
    }
    this.at = this.after();
    this.sink.onNumber(numbers.ptr, numbers.len);
  }
}
