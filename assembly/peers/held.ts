import { MAX_AGE_MS, MAX_WORK_MS } from "./wire";

/**
 * What a gateway's queues hold, and which of those requests is next to go, behind the head of an update:
 *
 * ```
 * │held 4│priority 4│tenant 4│work ms 4│has waited ms 4│last let go ms ago 4│
 * ```
 */
@unmanaged
export class Held {
  /** Nothing is held. */
  static clear(at: usize): void {
    memory.fill(at, 0, 24);
    store<f32>(at + 20, <f32>MAX_AGE_MS);
  }

  /** @param held requests, ≥ 1; the others are of the next to go: its tenant by hash, and how long it has waited */
  static write(
    at: usize,
    held: i32,
    priority: i32,
    tenant: u32,
    workMs: f64,
    waitedMs: f64,
    letGoAgeMs: f64,
  ): void {
    store<u32>(at, held);
    store<i32>(at + 4, priority);
    store<u32>(at + 8, tenant);
    store<f32>(at + 12, <f32>Math.min(Math.max(workMs, 0), MAX_WORK_MS));
    store<f32>(at + 16, <f32>Math.min(Math.max(waitedMs, 0), MAX_AGE_MS));
    store<f32>(at + 20, <f32>Math.min(Math.max(letGoAgeMs, 0), MAX_AGE_MS));
  }
  /** Requests held, over all workers. */
  @inline
  static count(at: usize): u32 {
    return load<u32>(at);
  }
  @inline
  static priority(at: usize): i32 {
    return load<i32>(at + 4);
  }
  @inline
  static tenant(at: usize): u32 {
    return load<u32>(at + 8);
  }
  @inline
  static workMs(at: usize): f64 {
    return <f64>load<f32>(at + 12);
  }
  @inline
  static waitedMs(at: usize): f64 {
    return <f64>load<f32>(at + 16);
  }
  /** How long ago the gateway last let a held request go, ms. */
  @inline
  static letGoAgeMs(at: usize): f64 {
    return <f64>load<f32>(at + 20);
  }
}
