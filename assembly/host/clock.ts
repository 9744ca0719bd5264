import { proxy_get_current_time_nanoseconds } from "./imports";
import { VALUE_CELL } from "./memory";

/** Wall-clock time, nanoseconds since 1970; 0 if the host has none. Costs about 80 ns. */
export function nowNs(): u64 {
  store<u64>(VALUE_CELL, 0);
  proxy_get_current_time_nanoseconds(VALUE_CELL);
  return load<u64>(VALUE_CELL);
}

/** Wall-clock time, milliseconds since 1970, with fractions. */
export function nowMs(): f64 {
  return <f64>nowNs() / 1e6;
}
