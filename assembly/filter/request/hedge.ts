import { text, writeU64 } from "../../bytes";
import { HeaderMap, setHeader } from "../../host/headers";
import { Decision } from "../choice/decision";

/** Both are for Envoy's router, which takes them off the request. */
const PER_TRY_TIMEOUT = text("x-envoy-upstream-rq-per-try-timeout-ms");
const HEDGE = text("x-envoy-hedge-on-per-try-timeout");
const TRUE = text("true");

/** An answer may take so many times what was expected of it: predictions are of means, and answers' lengths vary. */
const PATIENCE: f64 = 10;
/** A day, ms. */
const LONGEST_MS: f64 = 86_400_000;
const DIGITS: i32 = 20;
const digits: usize = heap.alloc(DIGITS);

/**
 * Has Envoy send a request to the next host as well whose answer doesn't begin for long: its server may never answer. The first
 * try goes on, so that a server which is merely slow loses nothing. A body that wasn't read may be of any size and tells nothing
 * of how long its answer takes.
 * @param silenceMs least time, 0 for never
 * @returns false when Envoy takes no header
 */
export function hedge(d: Decision, silenceMs: f64): bool {
  if (silenceMs == 0 || !d.readable || d.choice.count < 2) return true;
  const afterMs = Math.min(Math.max(silenceMs, PATIENCE * d.costMs), LONGEST_MS);
  const length = writeU64(digits, <u64>afterMs);
  if (!setHeader(HeaderMap.Request, PER_TRY_TIMEOUT, digits, length)) return false;
  return setHeader(HeaderMap.Request, HEDGE, TRUE.ptr, TRUE.len);
}
