/**
 * One JSON string or key, read from any split of its bytes: escapes decoded, UTF-8 checked, control
 * characters refused.
 *
 * What can be cut by the edge of a chunk, and what is kept until the next one:
 *
 *     … a \ | n …            an open escape
 *     … \ u D 8 | 3 D …      an open escape, two digits in its unit
 *     … \uD83D | \uDE80 …    high = 0xD83D
 *     … E6 9D | B1 …         pending = 2 bytes of a sequence of 3
 */
import { EscapeReader, hexUnit, SIMPLE_ESCAPES } from "./escapes";
import { DIRECT_RUN, SCRATCH_BYTES, TextOutput } from "./output";
import { skipPlain, special } from "./skip";
import { checkSequence, REPLACEMENT, REPLACEMENT_LEN, Sequence, writeCodePoint } from "./utf8";
import { tailsIn, wholeCharacters } from "./utf8block";

/** Longest piece given at once: small enough to be still in the first-level cache. */
const MAX_SPAN: usize = 8192;

/** Where `read` stopped. */
export const enum StringEnd {
  /** At the end of the chunk. */
  More,
  /** Behind the closing quote. */
  Closed,
  /** At something JSON doesn't allow. */
  Broken,
}

/** Reads strings for a scanner. */
@final
export class StringReader extends TextOutput {
  /** How the last `read` ended. */
  outcome: StringEnd = StringEnd.More;

  private escape: EscapeReader = new EscapeReader();
  /** First half of a surrogate pair whose second half may follow, 0 for none. */
  private high: u32 = 0;
  private pending: Sequence = new Sequence();

  /** Forgets an unfinished string. */
  reset(): void {
    this.begin(false);
    this.skip = false;
  }

  /** Call behind an opening quote. */
  begin(isKey: bool): void {
    this.beginOutput(isKey);
    this.escape.isOpen = false;
    this.high = 0;
    this.pending.len = 0;
  }

  /** Reads on from `p`; returns where it stopped and sets `outcome`. */
  read(p: usize, end: usize): usize {
    this.outcome = StringEnd.More;
    while (this.pending.len != 0 && p < end) p = this.resume(p);
    p = this.readEscape(p, end);
    if (this.outcome == StringEnd.Broken) return p;
    while (p < end) {
      if (this.high != 0 && load<u8>(p) != 0x5c) this.dropHigh();
      const run = p;
      const limit = min(end, run + MAX_SPAN);
      p = skipPlain(p, limit);
      const len = <i32>(p - run);
      if (p >= limit) {
        if (p >= end) this.give(run, len);
        else this.append(run, len);
        continue;
      }
      const c = <u32>load<u8>(p);
      if (c == 0x22) {
        this.close(run, len);
        this.outcome = StringEnd.Closed;
        return p + 1;
      }
      this.append(run, len);
      if (!this.isKey && this.high == 0) {
        const from = p;
        p = this.gather(p, end);
        if (p != from) continue;
      }
      if (c == 0x5c) {
        this.escape.begin();
        p = this.readEscape(p + 1, end);
        if (this.outcome == StringEnd.Broken) return p;
      } else if (c < 0x20) {
        this.outcome = StringEnd.Broken;
        return p;
      } else p = this.readSequence(p, end);
    }
    this.flush();
    return p;
  }

  /** One character beyond ASCII, or what is to be replaced. */
  private readSequence(p: usize, end: usize): usize {
    const n = checkSequence(p, end);
    const pending = this.pending;
    if (n < 0) {
      this.put(REPLACEMENT, REPLACEMENT_LEN);
      return p - n;
    }
    pending.begin(p, n == 0 ? <i32>(end - p) : n);
    if (n == 0) return end;
    this.put(pending.bytes, n);
    pending.len = 0;
    return p + n;
  }

  /**
   * Copies text into the scratch, decoded: the fast way through what has escapes or characters beyond ASCII. Stops in front of
   * a quote, of half a surrogate pair, of anything invalid, of what the chunk's end may cut, and of a run that is long enough
   * to be given where it lies.
   */
  private gather(start: usize, end: usize): usize {
    let p = start;
    let run = start;
    let tails: i32 = 0;
    let out = this.scratch + this.outLen;
    const full = this.scratch + (SCRATCH_BYTES - 16);
    while (p + 18 <= end) {
      if (out > full) {
        this.gathered(out, tails);
        this.flush();
        out = this.scratch;
        tails = 0;
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
      const beyond = i8x16.bitmask(block);
      const stops = mask & ~beyond;
      const room = stops != 0 ? ctz(stops) : 16;
      if ((beyond & ((1 << room) - 1)) != 0) {
        const whole = wholeCharacters(block, room);
        if (whole < 0) break;
        tails += tailsIn(block, whole);
        p += whole;
        out += whole;
        run = p;
        if (whole < room) continue;
      } else {
        p += room;
        out += room;
      }
      if (stops == 0) continue;
      if (load<u8>(p) != 0x5c) break;
      const letter = <u32>load<u8>(p, 1);
      const value = load<u8>(SIMPLE_ESCAPES + letter);
      if (value != 0) {
        store<u8>(out++, value);
        p += 2;
      } else {
        const unit = letter == 0x75 && p + 6 <= end ? hexUnit(p + 2) : -1;
        if (unit < 0 || (unit & 0xf800) == 0xd800) break;
        const len = writeCodePoint(out, unit);
        out += len;
        tails += len - 1;
        p += 6;
      }
      run = p;
    }
    this.gathered(out, tails);
    return p;
  }

  /** Reads on in an escape, if one is open. */
  private readEscape(start: usize, end: usize): usize {
    const escape = this.escape;
    let p = start;
    while (escape.isOpen && p < end) {
      if (!escape.add(load<u8>(p))) {
        this.outcome = StringEnd.Broken;
        return p;
      }
      p++;
      if (!escape.isOpen) this.putUnit(escape.unit);
    }
    return p;
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

  /** Adds the byte at `p` to the kept sequence, or replaces what is kept and leaves the byte. */
  private resume(p: usize): usize {
    const sequence = this.pending;
    if (!sequence.add(load<u8>(p))) {
      sequence.len = 0;
      this.put(REPLACEMENT, REPLACEMENT_LEN);
      return p;
    }
    if (sequence.isWhole) {
      this.put(sequence.bytes, sequence.len);
      sequence.len = 0;
    }
    return p + 1;
  }
}
