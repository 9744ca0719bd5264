import { Text } from "../bytes";
import { HeaderList } from "./headerlist";
import { proxy_http_call } from "./imports";
import { takeStatus, VALUE_CELL } from "./memory";

export { HeaderList } from "./headerlist";

/**
 * Sends an HTTP request to a cluster. The answer comes to `RootContext.onCallResponse` of the root
 * that is current, with 0 headers where the call failed.
 * @param headers must hold `:method`, `:path`, `:authority`
 * @param timeoutMs ≥ 0
 * @returns the call's token, or 0 when the host refused (no such cluster, a header missing):
 *   `outLen` then holds the status
 */
export function httpCall(
  cluster: Text,
  headers: HeaderList,
  bodyPtr: usize,
  bodyLen: i32,
  timeoutMs: u32,
): u32 {
  headers.seal();
  store<u32>(VALUE_CELL, 0);
  let status = proxy_http_call(
    cluster.ptr,
    cluster.len,
    headers.ptr,
    headers.size,
    bodyPtr,
    bodyLen,
    0,
    0,
    timeoutMs,
    VALUE_CELL,
  );
  takeStatus(status);
  return status == 0 ? load<u32>(VALUE_CELL) : 0;
}
