/** A gateway's rows count until this long after its last message, ms … */
export const UNHEARD_MS: f64 = 1000;
/** … and less from here on. */
const FADING_MS: f64 = 600;
/** Rows that come this late count less, ms; by LATE_MAX_MS most of what they say is no longer so. */
const LATE_MS: f64 = 100;
const LATE_MAX_MS: f64 = 400;

/**
 * How much a gateway's rows count, 0..1: what is old or comes late fades out, and what stands in for it fades in alike, so
 * that late is never worse than not at all.
 *
 * @param ageMs since what it said last was so  @param lateMs how old that was when it came
 */
export function belief(ageMs: f64, lateMs: f64): f64 {
  const fresh = (UNHEARD_MS - ageMs) / (UNHEARD_MS - FADING_MS);
  const prompt = (LATE_MAX_MS - lateMs) / (LATE_MAX_MS - LATE_MS);
  return Math.min(Math.max(Math.min(fresh, prompt), 0), 1);
}

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

/** Share of the other gateways that aren't heard, 0..1, where `heard` is the sum of beliefs. Without any there is nobody to agree with but by the prompt: 1. */
export function missingShare(members: i32, heard: f64): f64 {
  if (members <= 0) return heard > 0 ? 0 : 1;
  return heard >= <f64>members ? 0 : (<f64>members - heard) / <f64>members;
}
