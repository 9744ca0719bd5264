/*
 * The least that a filter which routes by bodies does: it pauses, copies the whole body in, and
 * sets the routing header. What warmroute costs above this is its reading and deciding.
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
import { HeaderMap, setHeader } from "../../../assembly/host/headers";
import { outLen, outPtr } from "../../../assembly/host/memory";

export * from "../../../assembly/host/exports";

/** Above Envoy's own limit nothing is held. */
const HOLD_LIMIT_BYTES = 1 << 20;

const HEADER: Text = text("x-gateway-destination-endpoint");

/** The configuration is the `ip:port` that every request goes to. */
let host: StaticArray<u8> = [];

class ThinStream extends StreamContext {
  private seen: i32 = 0;
  /** Let go; what comes now passes. */
  private released: bool = false;

  onRequestHeaders(count: i32, endOfStream: bool): HeadersStatus {
    this.seen = 0;
    this.released = false;
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

  onDelete(): void {
    pool.push(this);
  }
}

const pool: ThinStream[] = [];

class ThinRoot extends RootContext {
  onConfigure(size: i32): bool {
    if (!getBuffer(BufferType.PluginConfiguration, 0, size)) return false;
    host = new StaticArray<u8>(outLen);
    memory.copy(changetype<usize>(host), outPtr, outLen);
    return true;
  }

  createStream(id: u32): StreamContext | null {
    return pool.length > 0 ? pool.pop() : new ThinStream();
  }
}

setRootFactory((id: u32): RootContext | null => new ThinRoot());
