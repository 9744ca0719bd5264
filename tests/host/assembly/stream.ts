import { Text, text, writeU64 } from "../../../assembly/bytes";
import { BufferType, getBuffer } from "../../../assembly/host/buffers";
import {
  DataStatus,
  HeadersStatus,
  StreamContext,
  TrailersStatus,
} from "../../../assembly/host/contexts";
import {
  getHeader,
  HeaderMap,
  pairNameLen,
  pairValueLen,
  pairValuePtr,
  readPairs,
  removeHeader,
  setHeader,
} from "../../../assembly/host/headers";
import { outLen, outPtr } from "../../../assembly/host/memory";
import { getProperty, path, setProperty } from "../../../assembly/host/properties";
import { TestRoot } from "./root";

/** Digit: the status to give at headers; 8: answer 403; 9: trap. */
const AT_HEADERS = text("x-at-headers");
/** Digit: the status to give at body until released. */
const AT_BODY = text("x-at-body");
/** Letter: what happens at the end of the body: continue, wait, reject at a tick, fail. */
const AT_END = text("x-at-end");
/** Digits of kilobytes seen after which the body is let go. */
const RELEASE_KB = text("x-release-kb");
const SEEN = text("x-seen");
const SUM = text("x-sum");
const SECRET = text("x-secret");
const UPSTREAM = text("x-upstream");
const PAIRS = text("x-pairs");
const ADDRESS = path("upstream", "address");
const NOTE = text("test.note");

const digits: usize = memory.data(24);

/** First byte of a header minus "0", or `none`. */
function digit(name: Text, none: i32): i32 {
  return getHeader(HeaderMap.Request, name) && outLen ? <i32>load<u8>(outPtr) - 0x30 : none;
}

export class TestStream extends StreamContext {
  next: TestStream | null = null;
  seen: i32 = 0;
  sum: u32 = 0;
  atBody: i32 = 0;
  atEnd: i32 = 0;
  releaseBytes: i32 = 0;
  released: bool = false;
  responseBytes: i32 = 0;

  constructor(private root: TestRoot) {
    super();
  }

  reset(): void {
    this.seen = 0;
    this.sum = 0;
    this.atBody = 0;
    this.atEnd = 0;
    this.releaseBytes = i32.MAX_VALUE;
    this.released = false;
    this.responseBytes = 0;
  }

  override onRequestHeaders(count: i32, endOfStream: bool): HeadersStatus {
    this.root.requests.add(1);
    this.root.open.add(1);
    removeHeader(HeaderMap.Request, SECRET);
    let pairs = readPairs(HeaderMap.Request);
    let bytes = 0;
    for (let i = 0; i < pairs; i++) {
      bytes += pairNameLen(i) + pairValueLen(i);
      // Touches the last byte of each, which must be in memory.
      if (pairValueLen(i)) this.sum += load<u8>(pairValuePtr(i) + pairValueLen(i) - 1) & 0;
    }
    setHeader(HeaderMap.Request, PAIRS, digits, writeU64(digits, <u64>bytes));
    this.atBody = digit(AT_BODY, 0);
    this.atEnd = digit(AT_END, 0) + 0x30;
    let kilobytes = digit(RELEASE_KB, -1);
    if (kilobytes >= 0) this.releaseBytes = kilobytes * 1024;
    let status = digit(AT_HEADERS, 0);
    if (status == 9) unreachable();
    if (status == 8) {
      this.root.answer(403);
      return HeadersStatus.StopIteration;
    }
    return endOfStream ? HeadersStatus.Continue : <HeadersStatus>status;
  }

  override onRequestBody(size: i32, endOfStream: bool): DataStatus {
    this.root.trace(endOfStream ? "body end" : "body", this.id, size);
    // While buffering, `size` grows; else it is the new chunk's.
    let start = this.atBody == DataStatus.StopIterationAndBuffer && !this.released ? this.seen : 0;
    if (size > start && getBuffer(BufferType.RequestBody, start, size - start)) {
      for (let i = 0; i < outLen; i++) this.sum += load<u8>(outPtr + i);
      this.seen += outLen;
    }
    if (this.released) return DataStatus.Continue;
    if (!endOfStream && this.seen < this.releaseBytes) return <DataStatus>this.atBody;
    this.released = true;
    setHeader(HeaderMap.Request, SEEN, digits, writeU64(digits, <u64>this.seen));
    setHeader(HeaderMap.Request, SUM, digits, writeU64(digits, <u64>this.sum));
    setProperty(NOTE, digits, writeU64(digits, <u64>this.seen));
    switch (this.atEnd) {
      case 0x77: // w
        this.root.waiting = this.id;
        this.root.waitingFor = 1;
        return <DataStatus>this.atBody;
      case 0x6a: // j
        this.root.waiting = this.id;
        this.root.waitingFor = 2;
        return DataStatus.StopIterationAndBuffer;
      case 0x66: // f
        this.root.answer(400);
        return DataStatus.StopIterationNoBuffer;
      default:
        return DataStatus.Continue;
    }
  }

  override onRequestTrailers(count: i32): TrailersStatus {
    this.root.trace("trailers", this.id, count);
    this.released = true;
    return TrailersStatus.Continue;
  }

  override onResponseHeaders(count: i32, endOfStream: bool): HeadersStatus {
    this.root.trace("response headers", this.id, count);
    if (getProperty(ADDRESS)) setHeader(HeaderMap.Response, UPSTREAM, outPtr, outLen);
    return HeadersStatus.Continue;
  }

  override onResponseBody(size: i32, endOfStream: bool): DataStatus {
    this.root.trace(endOfStream ? "response body end" : "response body", this.id, size);
    this.responseBytes += size;
    return DataStatus.Continue;
  }

  override onDone(): void {
    this.root.trace("done", this.id, 0);
  }

  override onLog(): void {
    this.root.trace("log", this.id, 0);
    this.root.sizes.record(<u64>this.responseBytes);
    this.root.open.add(-1);
  }

  override onDelete(): void {
    this.root.trace("delete", this.id, 0);
    this.next = this.root.pool;
    this.root.pool = this;
  }
}
