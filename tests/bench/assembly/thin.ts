/*
 * The least that a filter which routes by bodies does: it pauses, copies the whole body in, and
 * sets the routing header. With "calls" behind the host, it makes all calls to Envoy that the public interface asks for,
 * too: it reads the headers of both sides, where the request was served and the answer's body, and sets the eleven values
 * for access logs, always the same ones. What warmroute costs above that is its reading and deciding, and its bookkeeping.
 */
import { Text, text } from "../../../assembly/bytes";
import { BufferType, getBuffer } from "../../../assembly/host/buffers";
import {
  DataStatus,
  HeadersStatus,
  RootContext,
  setRootFactory,
  StreamContext,
} from "../../../assembly/host/contexts";
import { HeaderMap, readPairs, setHeader } from "../../../assembly/host/headers";
import { outLen, outPtr } from "../../../assembly/host/memory";
import { getProperty, path, setProperty } from "../../../assembly/host/properties";

export * from "../../../assembly/host/exports";

/** Above Envoy's own limit nothing is held. */
const HOLD_LIMIT_BYTES = 1 << 20;

const HEADER: Text = text("x-gateway-destination-endpoint");

const CALLS: Text = text(" calls");
const UPSTREAM_ADDRESS: Text = path("upstream", "address");
const VALUE: Text = text("12345678");
const FIELDS: Text[] = [
  path("warmroute.reason"),
  path("warmroute.host"),
  path("warmroute.choice"),
  path("warmroute.key"),
  path("warmroute.model"),
  path("warmroute.prompt_chars"),
  path("warmroute.images"),
  path("warmroute.prompt_tokens"),
  path("warmroute.cached_tokens"),
  path("warmroute.output_tokens"),
  path("warmroute.queued_ms"),
];

/** The configuration is the `ip:port` that every request goes to, and " calls" for all calls. */
let host: StaticArray<u8> = [];
let allCalls: bool = false;

class ThinStream extends StreamContext {
  private seen: i32 = 0;
  /** Let go; what comes now passes. */
  private released: bool = false;

  onRequestHeaders(count: i32, endOfStream: bool): HeadersStatus {
    this.seen = 0;
    this.released = false;
    if (allCalls) readPairs(HeaderMap.Request);
    return endOfStream ? HeadersStatus.Continue : HeadersStatus.StopIteration;
  }

  onRequestBody(size: i32, endOfStream: bool): DataStatus {
    if (this.released) return DataStatus.Continue;
    if (size > this.seen && getBuffer(BufferType.RequestBody, this.seen, size - this.seen)) {
      this.seen = size;
    }
    if (!endOfStream && size < HOLD_LIMIT_BYTES) return DataStatus.StopIterationAndBuffer;
    this.released = true;
    setHeader(HeaderMap.Request, HEADER, changetype<usize>(host), host.length);
    return DataStatus.Continue;
  }

  onResponseHeaders(count: i32, endOfStream: bool): HeadersStatus {
    if (allCalls) {
      readPairs(HeaderMap.Response);
      getProperty(UPSTREAM_ADDRESS);
    }
    return HeadersStatus.Continue;
  }

  onResponseBody(size: i32, endOfStream: bool): DataStatus {
    if (allCalls && size > 0) getBuffer(BufferType.ResponseBody, 0, size);
    return DataStatus.Continue;
  }

  onLog(): void {
    if (!allCalls) return;
    for (let i = 0; i < FIELDS.length; i++) {
      setProperty(unchecked(FIELDS[i]), VALUE.ptr, VALUE.len);
    }
  }

  onDelete(): void {
    pool.push(this);
  }
}

const pool: ThinStream[] = [];

class ThinRoot extends RootContext {
  onConfigure(size: i32): bool {
    if (!getBuffer(BufferType.PluginConfiguration, 0, size)) return false;
    const hostLen = outLen - CALLS.len;
    allCalls = hostLen > 0 && memory.compare(outPtr + hostLen, CALLS.ptr, CALLS.len) == 0;
    host = new StaticArray<u8>(allCalls ? hostLen : outLen);
    memory.copy(changetype<usize>(host), outPtr, host.length);
    return true;
  }

  createStream(id: u32): StreamContext | null {
    return pool.length > 0 ? pool.pop() : new ThinStream();
  }
}

setRootFactory((id: u32): RootContext | null => new ThinRoot());
