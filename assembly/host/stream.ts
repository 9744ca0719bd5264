import { Text } from "../bytes";
import { HeaderList } from "./headerlist";
import {
  proxy_continue_stream,
  proxy_send_local_response,
  proxy_set_effective_context,
  proxy_set_tick_period_milliseconds,
} from "./imports";

const REQUEST: i32 = 0;
const NO_GRPC_STATUS: u32 = 0xffff_ffff;

/** Lets a paused request go on. */
export function continueRequest(): bool {
  return proxy_continue_stream(REQUEST) == 0;
}

/**
 * Answers the request. Response callbacks of the same stream run before this returns; the
 * request callback it is called from must return a Stop status.
 * @param details shown as the response code details
 */
export function sendLocalResponse(
  status: u32,
  details: Text,
  headers: HeaderList,
  bodyPtr: usize,
  bodyLen: i32,
): bool {
  headers.seal();
  return (
    proxy_send_local_response(
      status,
      details.ptr,
      details.len,
      bodyPtr,
      bodyLen,
      headers.ptr,
      headers.size,
      NO_GRPC_STATUS,
    ) == 0
  );
}

/** Makes the context with this id the one that host functions act on, until the callback ends. */
export function setEffectiveContext(id: u32): bool {
  return proxy_set_effective_context(id) == 0;
}

/** Calls `onTick` of the current root this often, in milliseconds; 0 stops it. */
export function setTickPeriodMs(periodMs: u32): bool {
  return proxy_set_tick_period_milliseconds(periodMs) == 0;
}
