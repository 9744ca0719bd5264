/**
 * One run of prompt text under way: its hash, its counts, and the boundaries at growing positions
 * inside it. A lane can be copied, so that a field given twice starts again from where the first
 * began.
 */
import { text } from "../bytes";
import { Entries } from "../prefix/entries";
import { Hasher, mix } from "../prefix/hash";
import { positionAt } from "../prefix/positions";
import { Tally } from "./tally";

/** A coding agent puts a line that begins so, and differs in each request, ahead of its prompt. */
const NONCE = text("x-anthropic-billing-header:");
const TOKEN_ID_BYTES: u32 = 4;
const PART_SALT: u64 = 0x9a27_0000_0000_0003;

const enum Head {
  /** Text is taken as it comes. */
  Off,
  /** The first bytes are being compared with the nonce line's start. */
  Matching,
  /** Inside the nonce line. */
  Skipping,
}

@final
export class Lane {
  readonly hasher: Hasher = new Hasher();
  readonly tally: Tally = new Tally();
  /** Whether anything came since `begin`. */
  isUsed: bool = false;
  /** Hash of a nonce line that was left out, 0 for none, and its size. */
  nonceHash: u64 = 0;
  nonceBytes: u32 = 0;
  nonceCodePoints: u32 = 0;

  private head: Head = Head.Off;
  private matched: i32 = 0;
  private nonce: Hasher = new Hasher();
  /** Positions are noted here. */
  private list: Entries | null = null;
  private listCount: i32 = 0;
  /** Bytes before this lane, and the number of the next position. */
  private base: u32 = 0;
  private next: i32 = 0;

  /** Where positions go from now on; they count from 0. */
  attach(list: Entries): void {
    this.list = list;
    this.next = 0;
  }

  /** Starts anew, `base` bytes behind the start of the positions. */
  begin(base: u32): void {
    this.hasher.reset(0);
    this.tally.clear();
    this.isUsed = false;
    this.nonceHash = 0;
    this.nonceBytes = 0;
    this.nonceCodePoints = 0;
    this.head = Head.Off;
    this.matched = 0;
    this.base = base;
    if (base == 0) this.next = 0;
    this.passPositions(base);
  }

  /** Leave out a nonce line, should the text begin with one. */
  watchHead(): void {
    this.head = Head.Matching;
    this.matched = 0;
  }

  /** Becomes what `from` is now; so a lane is remembered, and gone back to by the reverse call. */
  copyFrom(from: Lane): void {
    this.hasher.copyFrom(from.hasher);
    this.tally.copyFrom(from.tally);
    this.isUsed = from.isUsed;
    this.nonceHash = from.nonceHash;
    this.nonceBytes = from.nonceBytes;
    this.nonceCodePoints = from.nonceCodePoints;
    this.head = from.head;
    this.matched = from.matched;
    this.base = from.base;
    this.next = from.next;
    const other = from.list;
    this.listCount = other ? other.count : from.listCount;
    const list = this.list;
    if (list) list.count = this.listCount;
  }

  /** The next bytes of text; `tails` of them continue a character. */
  text(ptr: usize, len: i32, tails: i32): void {
    if (this.head != Head.Off) this.headText(ptr, len, tails);
    else this.take(ptr, len, tails);
  }

  /** A string ended. */
  endText(): void {
    if (this.head == Head.Off) return;
    if (this.head == Head.Skipping) this.endNonce();
    else if (this.matched > 0) this.giveBack();
  }

  /** A part begins: parts that follow each other differ from one that holds both. */
  beginPart(): void {
    if (this.isUsed) this.mark(PART_SALT);
  }

  /** Something that is known by its hash only. */
  mark(hash: u64): void {
    this.hasher.reset(mix(this.hasher.digest(), hash));
    this.isUsed = true;
    this.head = Head.Off;
  }

  /** A token id. */
  tokenId(id: u32): void {
    this.hasher.updateU32(id);
    this.isUsed = true;
    this.tally.tokenIds++;
    const list = this.list;
    if (list && this.position >= positionAt(this.next)) this.note(list);
  }

  /** The next position lies behind `at`. */
  private passPositions(at: u32): void {
    while (positionAt(this.next) <= at && at != u32.MAX_VALUE) this.next++;
  }

  private get position(): u32 {
    return this.base + this.tally.bytes + this.tally.tokenIds * TOKEN_ID_BYTES;
  }

  private take(start: usize, len: i32, tails: i32): void {
    if (len <= 0) return;
    this.isUsed = true;
    const tally = this.tally;
    tally.codePoints += len - tails;
    const list = this.list;
    let p = start;
    let left = <u32>len;
    if (list) {
      // What was only marked counts too, and may have passed positions.
      this.passPositions(this.position);
      for (;;) {
        const room = positionAt(this.next) - this.position;
        if (left < room) break;
        this.hasher.update(p, room);
        tally.bytes += room;
        p += room;
        left -= room;
        this.note(list);
      }
    }
    this.hasher.update(p, left);
    tally.bytes += left;
  }

  private note(list: Entries): void {
    const tally = this.tally;
    list.push(this.hasher.digest(), tally.bytes, tally.tokenIds, tally.media, 0);
    this.passPositions(this.position);
  }

  private headText(ptr: usize, len: i32, tails: i32): void {
    let p = ptr;
    const end = ptr + len;
    if (this.head == Head.Matching) {
      while (p < end && this.matched < NONCE.len) {
        if (load<u8>(p) != load<u8>(NONCE.ptr + this.matched)) {
          // The start of the nonce is ASCII, so the bytes taken from this span hold no tails.
          this.giveBack();
          this.take(p, <i32>(end - p), tails);
          return;
        }
        p++;
        this.matched++;
      }
      if (this.matched < NONCE.len) return;
      this.head = Head.Skipping;
      this.nonce.reset(0);
      this.nonceBytes = NONCE.len;
      this.nonceCodePoints = NONCE.len;
    }
    const from = p;
    let left = tails;
    while (p < end) {
      const c = <u32>load<u8>(p++);
      if ((c & 0xc0) == 0x80) left--;
      if (c == 0x0a) break;
    }
    const skipped = <i32>(p - from);
    this.nonce.update(from, skipped);
    this.nonceBytes += skipped;
    this.nonceCodePoints += skipped - (tails - left);
    if (skipped > 0 && load<u8>(p - 1) == 0x0a) {
      this.endNonce();
      this.take(p, <i32>(end - p), left);
    }
  }

  private endNonce(): void {
    this.nonceHash = this.nonce.digest();
    this.head = Head.Off;
  }

  /** What looked like a nonce line isn't one. */
  private giveBack(): void {
    const matched = this.matched;
    this.head = Head.Off;
    this.matched = 0;
    this.take(NONCE.ptr, matched, 0);
  }
}
