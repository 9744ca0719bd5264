import { proxy_get_log_level, proxy_log } from "./imports";
import { arenaAlloc, VALUE_CELL } from "./memory";

/** Envoy's levels. */
export const enum LogLevel {
  Trace = 0,
  Debug = 1,
  Info = 2,
  Warn = 3,
  Error = 4,
  Critical = 5,
}

/** Whether Envoy would show this level: ask before a message is put together. */
export function logEnabled(level: LogLevel): bool {
  store<u32>(VALUE_CELL, 0);
  return proxy_get_log_level(VALUE_CELL) != 0 || <u32>level >= load<u32>(VALUE_CELL);
}

/** Logs a message. Putting one together allocates, so this is for what is rare. */
export function log(level: LogLevel, message: string): void {
  let size = String.UTF8.byteLength(message);
  let ptr = arenaAlloc(size);
  if (ptr == 0) return;
  String.UTF8.encodeUnsafe(changetype<usize>(message), message.length, ptr);
  proxy_log(level, ptr, size);
}

export function logWarn(message: string): void {
  log(LogLevel.Warn, message);
}

export function logError(message: string): void {
  log(LogLevel.Error, message);
}
