/** Bytes of an event that are kept until its end comes; larger events are handed on in parts. */
export const EVENT_CARRY_BYTES: i32 = 4096;

/** Bytes kept of lines that aren't data. */
const HEAD_BYTES: i32 = 48;

const BOM: u32 = 0xbfbbef;

/** Takes the data of events: each event whole, or, if it is large and cut, in parts. */
export abstract class EventSink {
  /** A whole event's data. */
  abstract onEvent(ptr: usize, len: i32): void;
  /** The next part of an event's data; `first` at the first one. */
  abstract onEventPart(ptr: usize, len: i32, first: bool): void;
  /** The event that came in parts ends. */
  abstract onEventEnd(): void;
  /** A line that isn't data (`event: …`, `id: …`, a comment), cut at 48 bytes. */
  onLine(ptr: usize, len: i32): void {}
}

/** How the data of the present event is held. */
const enum Held {
  Nothing,
  /** In the present chunk. */
  InPlace,
  /** In the carry. */
  Carried,
  /** Handed on already. */
  Parts,
}

/** What kind of line is being read. */
const enum Line {
  /** Too little of it is known. */
  Head,
  Data,
  Other,
}

/**
 * Splits server-sent events in chunks of any size, with any line ends. An event that lies within
 * one chunk is not copied. Several `data:` lines make one event, joined by line feeds.
 *
 * Where chunks may end:  d a t a : ␣ { " a " : 1 } \r \n \r \n
 *                         ^ head     ^ held in carry ^ lone CR: a LF that follows is part of it
 */
export class EventSplitter {
  private line: Line = Line.Head;
  private head: StaticArray<u8> = new StaticArray<u8>(HEAD_BYTES);
  private headLen: i32 = 0;
  private held: Held = Held.Nothing;
  private ptr: usize = 0;
  private len: i32 = 0;
  private carry: StaticArray<u8> = new StaticArray<u8>(EVENT_CARRY_BYTES);
  private afterCr: bool = false;
  /** The blank after `data:` is still to be left out. */
  private atBlank: bool = false;
  /** Bytes of a byte order mark seen at the start, 3 and more: it is over. */
  private bom: i32 = 0;

  constructor(private sink: EventSink) {}

  /** Starts on a new stream. */
  reset(): void {
    this.line = Line.Head;
    this.headLen = 0;
    this.held = Held.Nothing;
    this.len = 0;
    this.afterCr = false;
    this.atBlank = false;
    this.bom = 0;
  }

  /** Reads the next bytes of the stream. */
  feed(ptr: usize, len: i32): void {
    const end = ptr + <usize>len;
    while (ptr < end && this.bom < 3) {
      if (load<u8>(ptr) != <u8>(BOM >> (this.bom << 3))) {
        this.bom = 3;
        break;
      }
      this.bom++;
      ptr++;
    }
    while (ptr < end) {
      if (this.afterCr) {
        this.afterCr = false;
        if (load<u8>(ptr) == 10) {
          ptr++;
          continue;
        }
      }
      if (this.line == Line.Head) {
        ptr = this.readHead(ptr, end);
        if (this.line == Line.Head) continue;
      }
      if (this.atBlank && ptr < end) {
        this.atBlank = false;
        if (load<u8>(ptr) == 0x20) ptr++;
      }
      const stop = findLineEnd(ptr, end);
      if (this.line == Line.Data) this.take(ptr, <i32>(stop - ptr));
      else this.keepHead(ptr, <i32>(stop - ptr));
      if (stop == end) break;
      this.afterCr = load<u8>(stop) == 13;
      this.endLine();
      ptr = stop + 1;
    }
    if (this.held == Held.InPlace) this.carryOn();
  }

  /** Ends the stream; an event without its blank line counts. */
  finish(): void {
    if (this.line != Line.Head || this.headLen > 0) this.endLine();
    this.endEvent();
  }

  /** Reads the first bytes of a line until its kind is known, or a line ends in them. */
  private readHead(ptr: usize, end: usize): usize {
    if (this.headLen == 0 && end - ptr >= 5) {
      if (load<u32>(ptr) == DATA && load<u8>(ptr + 4) == 0x3a) {
        this.startData();
        return ptr + 5;
      }
    }
    const head = changetype<usize>(this.head);
    while (ptr < end) {
      const c = load<u8>(ptr);
      if (c == 10 || c == 13) {
        ptr++;
        this.afterCr = c == 13;
        this.endLine();
        return ptr;
      }
      store<u8>(head + this.headLen, c);
      this.headLen++;
      ptr++;
      if (this.headLen == 5) {
        if (load<u32>(head) == DATA && c == 0x3a) this.startData();
        else this.line = Line.Other;
        return ptr;
      }
    }
    return ptr;
  }

  private startData(): void {
    this.line = Line.Data;
    this.atBlank = true;
    if (this.held != Held.Nothing) this.take(LINE_FEED, 1);
  }

  private keepHead(ptr: usize, len: i32): void {
    len = min(len, HEAD_BYTES - this.headLen);
    memory.copy(changetype<usize>(this.head) + this.headLen, ptr, len);
    this.headLen += len;
  }

  /** Takes the next bytes of the event's data. */
  private take(ptr: usize, len: i32): void {
    if (this.held == Held.Nothing) {
      this.held = Held.InPlace;
      this.ptr = ptr;
      this.len = len;
      return;
    }
    if (this.held == Held.InPlace) this.carryOn();
    if (this.held == Held.Carried) {
      if (len <= EVENT_CARRY_BYTES - this.len) {
        memory.copy(changetype<usize>(this.carry) + this.len, ptr, len);
        this.len += len;
        return;
      }
      this.held = Held.Parts;
      this.sink.onEventPart(changetype<usize>(this.carry), this.len, true);
    }
    if (len > 0) this.sink.onEventPart(ptr, len, false);
  }

  /** Moves what lies in the chunk to where it lasts. */
  private carryOn(): void {
    if (this.len <= EVENT_CARRY_BYTES) {
      this.held = Held.Carried;
      memory.copy(changetype<usize>(this.carry), this.ptr, this.len);
    } else {
      this.held = Held.Parts;
      this.sink.onEventPart(this.ptr, this.len, true);
    }
  }

  /** A blank line ends the event. */
  private endLine(): void {
    if (this.line == Line.Head && this.headLen == 0) this.endEvent();
    else if (this.line != Line.Data) this.sink.onLine(changetype<usize>(this.head), this.headLen);
    this.line = Line.Head;
    this.headLen = 0;
    this.atBlank = false;
  }

  private endEvent(): void {
    if (this.held == Held.InPlace) this.sink.onEvent(this.ptr, this.len);
    else if (this.held == Held.Carried) this.sink.onEvent(changetype<usize>(this.carry), this.len);
    else if (this.held == Held.Parts) this.sink.onEventEnd();
    this.held = Held.Nothing;
    this.len = 0;
  }
}

/** `data`, little-endian. */
const DATA: u32 = 0x61746164;
const LINE_FEED: usize = memory.data<u8>([10]);

/** Address of the first CR or LF in [ptr, end), or `end`. */
function findLineEnd(ptr: usize, end: usize): usize {
  const lf = i8x16.splat(10);
  const cr = i8x16.splat(13);
  while (ptr + 16 <= end) {
    const bytes = v128.load(ptr);
    const mask = i8x16.bitmask(v128.or(i8x16.eq(bytes, lf), i8x16.eq(bytes, cr)));
    if (mask != 0) return ptr + ctz(mask);
    ptr += 16;
  }
  while (ptr < end && load<u8>(ptr) != 10 && load<u8>(ptr) != 13) ptr++;
  return ptr;
}
