import { proxy_log } from "./imports";

const LEVEL_CRITICAL: usize = 5;
const MAX_MESSAGE_UNITS: i32 = 160;
/** Three bytes a UTF-16 unit at most. Static, for an abort may mean that memory has run out. */
const buffer: usize = memory.data(3 * 160 + 16);

/**
 * The end of a VM: tells the log why, then traps. Envoy starts a new VM where its failure policy
 * says so.
 */
export function abort(
  message: string | null = null,
  fileName: string | null = null,
  line: u32 = 0,
  column: u32 = 0,
): void {
  let ptr = buffer;
  store<u64>(ptr, 0x203a74726f6261); // "abort: "
  ptr += 7;
  if (message != null) {
    let units = min(message.length, MAX_MESSAGE_UNITS);
    ptr += String.UTF8.encodeUnsafe(changetype<usize>(message), units, ptr);
  }
  proxy_log(LEVEL_CRITICAL, buffer, ptr - buffer);
  unreachable();
}
