/**
 * Where decoded text goes: to the sink, or into a key. Long runs go to the sink where they lie, the
 * short ones between escapes are gathered in a scratch, so that spans stay large.
 */
import { copyShort } from "../bytes";
import { KeyBuffer, MAX_KEY_BYTES } from "./keybuffer";
import { JsonSink } from "./sink";
import { writeCodePoint } from "./utf8";

/** Runs this long aren't copied. */
export const DIRECT_RUN: i32 = 256;
export const SCRATCH_BYTES: i32 = 4096;

export class TextOutput {
  /** Continuation bytes in the span being given: its bytes minus its code points. */
  tails: i32 = 0;
  /** Whether the text being given holds nothing that needs an escape. */
  isPlain: bool = false;
  /** While true, strings are checked but their bytes aren't given. */
  skip: bool = false;

  protected isKey: bool = false;
  protected outLen: i32 = 0;
  protected outTails: i32 = 0;
  protected scratch: usize;
  private key: KeyBuffer = new KeyBuffer();
  /** Decoded text that wasn't given yet, and room for one character more. */
  private memory: StaticArray<u8> = new StaticArray<u8>(SCRATCH_BYTES + 8);
  private character: usize;

  constructor(private sink: JsonSink) {
    this.scratch = changetype<usize>(this.memory);
    this.character = this.scratch + SCRATCH_BYTES;
  }

  protected beginOutput(isKey: bool): void {
    this.isKey = isKey;
    this.key.clear();
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
    if (len > 0 && !this.skip) this.giveRun(ptr, len);
    sink.onStringEnd();
  }

  protected putCode(code: u32): void {
    const len = writeCodePoint(this.character, code);
    this.put(load<u32>(this.character), len);
  }

  /** One decoded character: `len` bytes, little-endian in `word`. */
  protected put(word: u32, len: i32): void {
    if (this.isKey) {
      store<u32>(this.character, word);
      this.key.append(this.character, len);
      return;
    }
    if (this.skip) return;
    if (this.outLen + 4 > SCRATCH_BYTES) this.flush();
    store<u32>(this.scratch + this.outLen, word);
    this.outLen += len;
    this.outTails += len - 1;
  }

  /** A run of plain bytes behind which the string goes on. */
  protected append(ptr: usize, len: i32): void {
    if (len == 0) return;
    if (this.isKey) {
      this.key.append(ptr, len);
      return;
    }
    if (this.skip) return;
    if (len >= DIRECT_RUN) {
      this.flush();
      this.giveRun(ptr, len);
      return;
    }
    if (this.outLen + len > SCRATCH_BYTES) this.flush();
    copyShort(this.scratch + this.outLen, ptr, len);
    this.outLen += len;
  }

  /** The scratch was filled up to `out`; `tails` of what was added are continuation bytes. */
  @inline
  protected gathered(out: usize, tails: i32): void {
    if (this.skip) return;
    this.outLen = <i32>(out - this.scratch);
    this.outTails += tails;
  }

  /** A run of plain bytes behind which nothing comes, in this string or in this chunk. */
  protected give(ptr: usize, len: i32): void {
    if (this.outLen == 0 && !this.isKey && !this.skip && len != 0) {
      this.giveRun(ptr, len);
      return;
    }
    this.append(ptr, len);
    this.flush();
  }

  /** A run comes from the input as it is: ASCII without quote, backslash or control. */
  private giveRun(ptr: usize, len: i32): void {
    this.tails = 0;
    this.isPlain = true;
    this.sink.onStringBytes(ptr, len);
  }

  protected close(ptr: usize, len: i32): void {
    if (!this.isKey) {
      this.give(ptr, len);
      return;
    }
    const key = this.key;
    this.isPlain = key.len == 0;
    if (key.len == 0 && len <= MAX_KEY_BYTES) {
      this.sink.onKey(ptr, len, false);
      return;
    }
    key.append(ptr, len);
    this.sink.onKey(key.ptr, key.len, key.cut);
  }

  protected flush(): void {
    const len = this.outLen;
    if (len == 0) return;
    this.tails = this.outTails;
    this.isPlain = false;
    this.outLen = 0;
    this.outTails = 0;
    this.sink.onStringBytes(this.scratch, len);
  }
}
