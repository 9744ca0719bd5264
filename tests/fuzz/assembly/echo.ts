/** Test entry: writes what the scanner tells back as JSON text. */
import { JsonScanner } from "../../../assembly/json/scanner";
import { JsonSink } from "../../../assembly/json/sink";

const CAPACITY: usize = 1 << 24;
const input = heap.alloc(CAPACITY);
const output = heap.alloc(CAPACITY);
let written: usize = 0;
let comma = false;
let badSpans: i32 = 0;

function put(c: u32): void {
  if (written < CAPACITY) store<u8>(output + written++, <u8>c);
}

function hex(digit: u32): u32 {
  return digit < 10 ? 0x30 + digit : 0x57 + digit;
}

function putEscaped(ptr: usize, len: i32): void {
  for (let i: i32 = 0; i < len; i++) {
    const c = <u32>load<u8>(ptr + i);
    if (c == 0x22 || c == 0x5c) put(0x5c);
    if (c < 0x20) {
      put(0x5c);
      put(0x75);
      put(0x30);
      put(0x30);
      put(hex(c >> 4));
      put(hex(c & 15));
    } else put(c);
  }
}

function separate(): void {
  if (comma) put(0x2c);
  comma = true;
}

class Echo extends JsonSink {
  onObjectStart(): void {
    separate();
    put(0x7b);
    comma = false;
  }
  onObjectEnd(): void {
    put(0x7d);
    comma = true;
  }
  onArrayStart(): void {
    separate();
    put(0x5b);
    comma = false;
  }
  onArrayEnd(): void {
    put(0x5d);
    comma = true;
  }
  onKey(ptr: usize, len: i32, cut: bool): void {
    separate();
    put(0x22);
    putEscaped(ptr, len);
    put(0x22);
    put(0x3a);
    comma = false;
  }
  onStringStart(): void {
    separate();
    put(0x22);
  }
  onStringBytes(ptr: usize, len: i32): void {
    if (len <= 0) badSpans++;
    let tails: i32 = 0;
    for (let i: i32 = 0; i < len; i++) if ((load<u8>(ptr + i) & 0xc0) == 0x80) tails++;
    if (tails != scanner.spanTails) badSpans++;
    if (len > 0 && (load<u8>(ptr) & 0xc0) == 0x80) badSpans++;
    putEscaped(ptr, len);
  }
  onStringEnd(): void {
    put(0x22);
  }
  onNumber(ptr: usize, len: i32): void {
    separate();
    for (let i: i32 = 0; i < len; i++) put(load<u8>(ptr + i));
  }
  onTrue(): void {
    separate();
    put(0x74);
    put(0x72);
    put(0x75);
    put(0x65);
  }
  onFalse(): void {
    separate();
    put(0x66);
    put(0x61);
    put(0x6c);
    put(0x73);
    put(0x65);
  }
  onNull(): void {
    separate();
    put(0x6e);
    put(0x75);
    put(0x6c);
    put(0x6c);
  }
}

const scanner = new JsonScanner(new Echo());

export function inputAddress(): usize {
  return input;
}
export function outputAddress(): usize {
  return output;
}
export function outputLength(): usize {
  return written;
}
/** Spans that were empty, cut inside a character, or counted wrong. */
export function badSpanCount(): i32 {
  return badSpans;
}
export function reset(): void {
  written = 0;
  comma = false;
  badSpans = 0;
  scanner.reset();
}
export function feed(offset: i32, len: i32): void {
  scanner.feed(input + offset, len);
}
export function finish(): i32 {
  return <i32>scanner.finish();
}
