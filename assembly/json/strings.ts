/**
 * One JSON string or key, read from any split of its bytes: escapes decoded, UTF-8 checked, control
 * characters refused. Long plain runs go to the sink where they lie; escapes and the short runs
 * between them are gathered in a scratch, so that spans stay large.
 *
 * What can be cut by the edge of a chunk, and what is kept until the next one:
 *
 *     … a \ | n …            escape = AfterBackslash
 *     … \ u D 8 | 3 D …      escape = Hex, two digits in `unit`
 *     … \uD83D | \uDE80 …    high = 0xD83D
 *     … E6 9D | B1 …         pending = 2 bytes of a sequence of 3
 */
import { JsonSink } from "./sink";
import { copyShort, skipPlain, special } from "./skip";
import {
  checkSequence,
  REPLACEMENT,
  REPLACEMENT_LEN,
  secondHigh,
  secondLow,
  sequenceLength,
  writeCodePoint,
} from "./utf8";
import { passedTails, skipText } from "./utf8block";

/** Longest key that comes whole, in bytes. */
export const MAX_KEY_BYTES: i32 = 256;

/** Longest piece given at once: small enough to be still in the first-level cache. */
const MAX_SPAN: usize = 8192;
/** Runs this long aren't copied. */
const DIRECT_RUN: i32 = 256;
const SCRATCH_BYTES: i32 = 1024;

/** Where `read` stopped. */
export const enum StringEnd {
  /** At the end of the chunk. */
  More,
  /** Behind the closing quote. */
  Closed,
  /** At something JSON doesn't allow. */
  Broken,
}

const enum Escape {
  None,
  AfterBackslash,
  Hex,
}

/** Reads strings for a scanner. */
export class StringReader {
  /** How the last `read` ended. */
  outcome: StringEnd = StringEnd.More;
  /** Continuation bytes in the span being given: its bytes minus its code points. */
  tails: i32 = 0;
  /** Whether the text being given holds nothing that needs an escape. */
  isPlain: bool = false;
  /** While true, strings are checked but their bytes aren't given. */
  skip: bool = false;

  private isKey: bool = false;
  private escape: Escape = Escape.None;
  private unit: u32 = 0;
  private hexLeft: i32 = 0;
  private high: u32 = 0;
  private pending: u32 = 0;
  private pendingLen: i32 = 0;
  private keyLen: i32 = 0;
  private keyCut: bool = false;
  private outLen: i32 = 0;
  private outTails: i32 = 0;
  private memory: StaticArray<u8> = new StaticArray<u8>(SCRATCH_BYTES + 8 + MAX_KEY_BYTES);
  private scratch: usize;
  private keyBytes: usize;

  constructor(private sink: JsonSink) {
    this.scratch = changetype<usize>(this.memory);
    this.keyBytes = this.scratch + SCRATCH_BYTES + 8;
  }

  /** Forgets an unfinished string. */
  reset(): void {
    this.begin(false);
    this.skip = false;
  }

  /** Call behind an opening quote. */
  begin(isKey: bool): void {
    this.isKey = isKey;
    this.escape = Escape.None;
    this.high = 0;
    this.pendingLen = 0;
    this.keyLen = 0;
    this.keyCut = false;
    this.outLen = 0;
    this.outTails = 0;
  }

  /** Gives a whole plain ASCII string. */
  giveWhole(ptr: usize, len: i32): void {
    const sink = this.sink;
    if (sink.takesWholeText) {
      sink.onText(ptr, len);
      return;
    }
    sink.onStringStart();
    if (len > 0 && !this.skip) this.giveRun(ptr, len, 0);
    sink.onStringEnd();
  }

  /** Reads on from `p`; returns where it stopped and sets `outcome`. */
  read(p: usize, end: usize): usize {
    this.outcome = StringEnd.More;
    while (this.pendingLen != 0 && p < end) p = this.resumeSequence(p);
    while (this.escape != Escape.None && p < end) {
      if (!this.escapeByte(load<u8>(p))) {
        this.outcome = StringEnd.Broken;
        return p;
      }
      p++;
    }
    while (p < end) {
      if (this.high != 0 && load<u8>(p) != 0x5c) this.dropHigh();
      const run = p;
      const limit = min(end, run + MAX_SPAN);
      let tails: i32 = 0;
      p = skipPlain(p, limit);
      while (p < limit && load<u8>(p) >= 0x80) {
        p = skipText(p, limit);
        tails += passedTails;
        if (p >= limit) break;
        if (load<u8>(p) >= 0x80) {
          const n = checkSequence(p, end);
          if (n <= 0) break;
          tails += n - 1;
          p += n;
        }
        if (p < limit && load<u8>(p) < 0x80) p = skipPlain(p, limit);
      }
      const len = <i32>(p - run);
      if (p >= limit) {
        if (p >= end) this.give(run, len, tails);
        else this.append(run, len, tails);
        continue;
      }
      const c = <u32>load<u8>(p);
      if (c == 0x22) {
        this.close(run, len, tails);
        this.outcome = StringEnd.Closed;
        return p + 1;
      }
      this.append(run, len, tails);
      if (c == 0x5c) {
        p = this.escapeFrom(p + 1, end);
        if (this.outcome == StringEnd.Broken) return p;
        if (!this.isKey && !this.skip && this.high == 0) p = this.gather(p, end);
      } else if (c < 0x20) {
        this.outcome = StringEnd.Broken;
        return p;
      } else {
        const n = checkSequence(p, end);
        if (n == 0) {
          this.keep(p, <i32>(end - p));
          p = end;
        } else {
          this.put(REPLACEMENT, REPLACEMENT_LEN);
          p -= n;
        }
      }
    }
    this.flush();
    return p;
  }

  /**
   * Copies ASCII text with escapes into the scratch: the fast way through what has many of them.
   * Stops in front of anything else, and of a run that is long enough to be given where it lies.
   */
  private gather(start: usize, end: usize): usize {
    let p = start;
    let run = start;
    let out = this.scratch + this.outLen;
    const full = this.scratch + (SCRATCH_BYTES - 16);
    while (p + 18 <= end) {
      if (out > full) {
        this.outLen = <i32>(out - this.scratch);
        this.flush();
        out = this.scratch;
      }
      const block = v128.load(p);
      v128.store(out, block);
      const mask = i8x16.bitmask(special(block));
      if (mask == 0) {
        p += 16;
        out += 16;
        if (<i32>(p - run) >= DIRECT_RUN) break;
        continue;
      }
      const room = ctz(mask);
      p += room;
      out += room;
      if (load<u8>(p) != 0x5c) break;
      const value = load<u8>(SIMPLE_ESCAPES + load<u8>(p, 1));
      if (value == 0) break;
      store<u8>(out++, value);
      p += 2;
      run = p;
    }
    this.outLen = <i32>(out - this.scratch);
    return p;
  }

  /** An escape whose backslash lies before `p`; whole ones are read at once. */
  private escapeFrom(p: usize, end: usize): usize {
    this.escape = Escape.AfterBackslash;
    while (p < end && this.escape != Escape.None) {
      if (!this.escapeByte(load<u8>(p))) {
        this.outcome = StringEnd.Broken;
        return p;
      }
      p++;
    }
    return p;
  }

  /** One byte of an escape; false where it can't be one. */
  private escapeByte(c: u32): bool {
    if (this.escape == Escape.AfterBackslash) {
      if (c == 0x75) {
        this.escape = Escape.Hex;
        this.unit = 0;
        this.hexLeft = 4;
        return true;
      }
      const value = <u32>load<u8>(SIMPLE_ESCAPES + c);
      if (value == 0) return false;
      if (this.high != 0) this.dropHigh();
      this.escape = Escape.None;
      this.put(value, 1);
      return true;
    }
    let digit = c - 0x30;
    if (digit > 9) {
      digit = (c | 0x20) - 0x61;
      if (digit > 5) return false;
      digit += 10;
    }
    this.unit = (this.unit << 4) | digit;
    if (--this.hexLeft == 0) {
      this.escape = Escape.None;
      this.putUnit(this.unit);
    }
    return true;
  }

  /** One UTF-16 unit from an escape. */
  private putUnit(unit: u32): void {
    const isLow = (unit & 0xfc00) == 0xdc00;
    if (this.high != 0 && isLow) {
      const code = 0x10000 + ((this.high & 0x3ff) << 10) + (unit & 0x3ff);
      this.high = 0;
      this.putCode(code);
      return;
    }
    if (this.high != 0) this.dropHigh();
    if ((unit & 0xfc00) == 0xd800) this.high = unit;
    else if (isLow) this.put(REPLACEMENT, REPLACEMENT_LEN);
    else this.putCode(unit);
  }

  /** The half pair before this place stands alone. */
  private dropHigh(): void {
    this.high = 0;
    this.put(REPLACEMENT, REPLACEMENT_LEN);
  }

  private putCode(code: u32): void {
    const at = this.keyBytes - 8;
    const len = writeCodePoint(at, code);
    this.put(load<u32>(at), len);
  }

  /** One decoded character: `len` bytes, little-endian in `word`. */
  private put(word: u32, len: i32): void {
    if (this.isKey) {
      store<u32>(this.keyBytes - 8, word);
      this.appendKey(this.keyBytes - 8, len);
      return;
    }
    if (this.skip) return;
    if (this.outLen + 4 > SCRATCH_BYTES) this.flush();
    store<u32>(this.scratch + this.outLen, word);
    this.outLen += len;
    this.outTails += len - 1;
  }

  /** A run behind which the string goes on. */
  private append(ptr: usize, len: i32, tails: i32): void {
    if (len == 0) return;
    if (this.isKey) {
      this.appendKey(ptr, len);
      return;
    }
    if (this.skip) return;
    if (len >= DIRECT_RUN) {
      this.flush();
      this.giveRun(ptr, len, tails);
      return;
    }
    if (this.outLen + len > SCRATCH_BYTES) this.flush();
    copyShort(this.scratch + this.outLen, ptr, len);
    this.outLen += len;
    this.outTails += tails;
  }

  /** A run behind which nothing comes, in this string or in this chunk. */
  private give(ptr: usize, len: i32, tails: i32): void {
    if (this.outLen == 0 && !this.isKey && !this.skip && len != 0) {
      this.giveRun(ptr, len, tails);
      return;
    }
    this.append(ptr, len, tails);
    this.flush();
  }

  /** A run comes from the input as it is, so it holds no quote, backslash or control. */
  private giveRun(ptr: usize, len: i32, tails: i32): void {
    this.tails = tails;
    this.isPlain = true;
    this.sink.onStringBytes(ptr, len);
  }

  private close(ptr: usize, len: i32, tails: i32): void {
    if (!this.isKey) {
      this.give(ptr, len, tails);
      return;
    }
    this.isPlain = this.keyLen == 0;
    if (this.keyLen == 0 && len <= MAX_KEY_BYTES) {
      this.sink.onKey(ptr, len, false);
      return;
    }
    this.appendKey(ptr, len);
    this.sink.onKey(this.keyBytes, this.keyLen, this.keyCut);
  }

  private flush(): void {
    const len = this.outLen;
    if (len == 0) return;
    this.tails = this.outTails;
    this.isPlain = false;
    this.outLen = 0;
    this.outTails = 0;
    this.sink.onStringBytes(this.scratch, len);
  }

  private appendKey(ptr: usize, len: i32): void {
    const room = min(len, MAX_KEY_BYTES - this.keyLen);
    if (room < len) this.keyCut = true;
    copyShort(this.keyBytes + this.keyLen, ptr, room);
    this.keyLen += room;
  }

  /** Keeps the 1 to 3 bytes of a sequence that the chunk's end cut. */
  private keep(p: usize, len: i32): void {
    let bytes: u32 = 0;
    for (let i: i32 = 0; i < len; i++) bytes |= (<u32>load<u8>(p + i)) << (i << 3);
    this.pending = bytes;
    this.pendingLen = len;
  }

  /** Adds the byte at `p` to the kept sequence, or replaces what is kept and leaves the byte. */
  private resumeSequence(p: usize): usize {
    const c = <u32>load<u8>(p);
    const lead = this.pending & 0xff;
    const low: u32 = this.pendingLen == 1 ? secondLow(lead) : 0x80;
    const high: u32 = this.pendingLen == 1 ? secondHigh(lead) : 0xbf;
    if (c < low || c > high) {
      this.pendingLen = 0;
      this.put(REPLACEMENT, REPLACEMENT_LEN);
      return p;
    }
    this.pending |= c << (this.pendingLen << 3);
    this.pendingLen++;
    if (this.pendingLen == sequenceLength(lead)) {
      const len = this.pendingLen;
      this.pendingLen = 0;
      this.put(this.pending, len);
    }
    return p + 1;
  }
}

/** By the byte behind a backslash: what the two stand for, or 0. */
const SIMPLE_ESCAPES = memory.data(256);
store<u8>(SIMPLE_ESCAPES + 0x22, 0x22);
store<u8>(SIMPLE_ESCAPES + 0x5c, 0x5c);
store<u8>(SIMPLE_ESCAPES + 0x2f, 0x2f);
store<u8>(SIMPLE_ESCAPES + 0x62, 0x08);
store<u8>(SIMPLE_ESCAPES + 0x66, 0x0c);
store<u8>(SIMPLE_ESCAPES + 0x6e, 0x0a);
store<u8>(SIMPLE_ESCAPES + 0x72, 0x0d);
store<u8>(SIMPLE_ESCAPES + 0x74, 0x09);
