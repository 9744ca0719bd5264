/** What Envoy calls. Each finds its context and passes the call on; unknown ids do nothing. */
import "./abort";
import {
  createContext,
  DataStatus,
  HeadersStatus,
  roots,
  streams,
  TrailersStatus,
} from "./contexts";
import { collectSoon, enterCallback, leaveCallback, malloc } from "./memory";

export { malloc } from "./memory";

/** Tells the host which proxy-wasm this is. */
export function proxy_abi_version_0_2_1(): void {}

export function proxy_on_memory_allocate(size: usize): usize {
  return malloc(size);
}

export function proxy_on_context_create(id: u32, parent: u32): void {
  enterCallback();
  createContext(id, parent);
  leaveCallback();
}

export function proxy_on_vm_start(id: u32, size: i32): u32 {
  enterCallback();
  let root = roots.get(id);
  let accepted = root ? root.onStart(size) : false;
  leaveCallback();
  return u32(accepted);
}

export function proxy_on_configure(id: u32, size: i32): u32 {
  enterCallback();
  let root = roots.get(id);
  let accepted = root ? root.onConfigure(size) : false;
  // Reading a configuration leaves garbage.
  collectSoon();
  leaveCallback();
  return u32(accepted);
}

export function proxy_on_tick(id: u32): void {
  enterCallback();
  let root = roots.get(id);
  if (root) root.onTick();
  leaveCallback();
}

export function proxy_on_http_call_response(
  id: u32,
  token: u32,
  headerCount: i32,
  bodySize: i32,
  trailerCount: i32,
): void {
  enterCallback();
  let root = roots.get(id);
  if (root) root.onCallResponse(token, headerCount, bodySize, trailerCount);
  leaveCallback();
}

export function proxy_on_request_headers(id: u32, count: i32, endOfStream: u32): u32 {
  enterCallback();
  let stream = streams.get(id);
  let status = stream ? stream.onRequestHeaders(count, endOfStream != 0) : HeadersStatus.Continue;
  leaveCallback();
  return status;
}

export function proxy_on_request_body(id: u32, size: i32, endOfStream: u32): u32 {
  enterCallback();
  let stream = streams.get(id);
  let status = stream ? stream.onRequestBody(size, endOfStream != 0) : DataStatus.Continue;
  leaveCallback();
  return status;
}

export function proxy_on_request_trailers(id: u32, count: i32): u32 {
  enterCallback();
  let stream = streams.get(id);
  let status = stream ? stream.onRequestTrailers(count) : TrailersStatus.Continue;
  leaveCallback();
  return status;
}

export function proxy_on_response_headers(id: u32, count: i32, endOfStream: u32): u32 {
  enterCallback();
  let stream = streams.get(id);
  let status = stream ? stream.onResponseHeaders(count, endOfStream != 0) : HeadersStatus.Continue;
  leaveCallback();
  return status;
}

export function proxy_on_response_body(id: u32, size: i32, endOfStream: u32): u32 {
  enterCallback();
  let stream = streams.get(id);
  let status = stream ? stream.onResponseBody(size, endOfStream != 0) : DataStatus.Continue;
  leaveCallback();
  return status;
}

export function proxy_on_response_trailers(id: u32, count: i32): u32 {
  enterCallback();
  let stream = streams.get(id);
  let status = stream ? stream.onResponseTrailers(count) : TrailersStatus.Continue;
  leaveCallback();
  return status;
}

export function proxy_on_done(id: u32): u32 {
  enterCallback();
  let stream = streams.get(id);
  if (stream) {
    stream.onDone();
  } else {
    let root = roots.get(id);
    if (root) root.onDone();
  }
  leaveCallback();
  // 0 would keep the context until the filter calls `proxy_done`.
  return 1;
}

export function proxy_on_log(id: u32): void {
  enterCallback();
  let stream = streams.get(id);
  if (stream) stream.onLog();
  leaveCallback();
}

export function proxy_on_delete(id: u32): void {
  enterCallback();
  let stream = streams.get(id);
  if (stream) {
    streams.remove(id);
    stream.onDelete();
  } else {
    let root = roots.get(id);
    if (root) {
      roots.remove(id);
      root.onDelete();
    }
  }
  leaveCallback();
}
