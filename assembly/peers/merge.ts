/** A gateway's rows count until this long after its last message, ms. */
export const UNHEARD_MS: f64 = 1000;

/**
 * Prefill milliseconds that a host still has before it would start something new, of several gateways' queues:
 * max(0, Σ work − (now − newest)), where `newest` is the latest time at which any of the queues was as long as its work
 * says. Own queue alone is the least that it can be.
 *
 * @param ownMs what own queue says  @param workMs Σ over all gateways  @param newestMs the latest of all
 */
@inline
export function pendingMs(ownMs: f64, workMs: f64, newestMs: f64, nowMs: f64): f64 {
  return Math.max(ownMs, workMs - Math.max(0, nowMs - newestMs));
}

/** Share of the other gateways that aren't heard, 0..1. Without any there is nobody to agree with but by the prompt: 1. */
export function missingShare(members: i32, heard: i32): f64 {
  if (members <= 0) return heard > 0 ? 0 : 1;
  return heard >= members ? 0 : <f64>(members - heard) / <f64>members;
}
