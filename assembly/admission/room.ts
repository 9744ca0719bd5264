/** What speaks for and against a host having room. One, filled for each host. */
export class Load {
  /** Expected wait before a new request's prefill would start, ms. */
  waitMs: f64 = 0;
  /** Whether the host's speed has been learned: only then is the expected wait more than a guess. */
  isLearned: bool = false;
  /** Requests in flight there by own accounting. */
  inFlight: f64 = 0;
  /** Reported requests running and waiting, and share of the KV cache in use; NaN unknown or stale. */
  running: f64 = NaN;
  waiting: f64 = NaN;
  kvUsage: f64 = NaN;
}

/** From where on a host is full. */
export class Limits {
  maxWaitMs: f64 = 10000;
  maxWaiting: f64 = 64;
  maxKvUsage: f64 = 0.98;
  /** Share of the first two that heavy prompts may use, 0..1. */
  heavyShare: f64 = 0.5;
}

/** For whom a host has room. */
export const enum Room {
  None = 0,
  /** Light prompts only: the rest is kept for them. */
  Light = 1,
  All = 2,
}

/** Whether nothing is known to be at the host. */
export function isIdle(load: Load): bool {
  return load.inFlight == 0 && !(load.running > 0) && !(load.waiting > 0);
}

/** Room at a host. What is unknown never means full, and an idle host always has room. */
export function roomAt(load: Load, limits: Limits): Room {
  if (isIdle(load)) return Room.All;
  if (load.kvUsage >= limits.maxKvUsage || load.waiting >= limits.maxWaiting) return Room.None;
  const waitMs = load.isLearned ? load.waitMs : 0;
  if (waitMs > limits.maxWaitMs) return Room.None;
  const heavyWaiting = Math.max(limits.maxWaiting * limits.heavyShare, 1);
  if (load.waiting >= heavyWaiting || waitMs > limits.maxWaitMs * limits.heavyShare) {
    return Room.Light;
  }
  return Room.All;
}
