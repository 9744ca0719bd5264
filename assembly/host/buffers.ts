import { proxy_get_buffer_bytes } from "./imports";
import { clearCells, LEN_CELL, PTR_CELL, takeOut } from "./memory";

/** What `getBuffer` can read. */
export const enum BufferType {
  RequestBody = 0,
  ResponseBody = 1,
  CallResponseBody = 4,
  VmConfiguration = 6,
  PluginConfiguration = 7,
}

/**
 * Copies bytes [start, start + length) of a buffer in, cut at its end, to `outPtr`, `outLen`.
 * False: no such buffer now, or no memory for it.
 */
export function getBuffer(type: BufferType, start: i32, length: i32): bool {
  if (start < 0 || length < 0) return takeOut(1);
  clearCells();
  return takeOut(proxy_get_buffer_bytes(type, start, length, PTR_CELL, LEN_CELL));
}
