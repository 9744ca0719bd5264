/**
 * The shipped filter behind exports that trap when a request asks for it with `x-test-trap: <where>`. Built for tests only:
 * the release holds nothing of this.
 */
import "../../../assembly/index";
import { Text, equalsText, text } from "../../../assembly/bytes";
import { HeaderMap, getHeader } from "../../../assembly/host/headers";
import * as filter from "../../../assembly/host/exports";
import { outLen, outPtr } from "../../../assembly/host/memory";

export {
  malloc,
  proxy_abi_version_0_2_1,
  proxy_on_configure,
  proxy_on_context_create,
  proxy_on_delete,
  proxy_on_done,
  proxy_on_http_call_response,
  proxy_on_log,
  proxy_on_memory_allocate,
  proxy_on_request_trailers,
  proxy_on_response_trailers,
  proxy_on_vm_start,
} from "../../../assembly/host/exports";

const ORDER = text("x-test-trap");
const AT_REQUEST_HEADERS = text("request headers");
const AT_REQUEST_BODY = text("request body");
const AT_RESPONSE_HEADERS = text("response headers");
const AT_RESPONSE_BODY = text("response body");
const AT_TICK = text("tick");

/** The next tick traps. */
let tickTraps: bool = false;

/** Whether the current request asks for a trap at a place. */
function isOrdered(place: Text): bool {
  return getHeader(HeaderMap.Request, ORDER) && equalsText(outPtr, outLen, place);
}

export function proxy_on_request_headers(id: u32, count: i32, endOfStream: u32): u32 {
  if (isOrdered(AT_REQUEST_HEADERS)) unreachable();
  if (isOrdered(AT_TICK)) tickTraps = true;
  return filter.proxy_on_request_headers(id, count, endOfStream);
}

export function proxy_on_request_body(id: u32, size: i32, endOfStream: u32): u32 {
  if (isOrdered(AT_REQUEST_BODY)) unreachable();
  return filter.proxy_on_request_body(id, size, endOfStream);
}

export function proxy_on_response_headers(id: u32, count: i32, endOfStream: u32): u32 {
  if (isOrdered(AT_RESPONSE_HEADERS)) unreachable();
  return filter.proxy_on_response_headers(id, count, endOfStream);
}

export function proxy_on_response_body(id: u32, size: i32, endOfStream: u32): u32 {
  if (isOrdered(AT_RESPONSE_BODY)) unreachable();
  return filter.proxy_on_response_body(id, size, endOfStream);
}

export function proxy_on_tick(id: u32): void {
  if (tickTraps) unreachable();
  filter.proxy_on_tick(id);
}
