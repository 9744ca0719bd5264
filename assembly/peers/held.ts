import { MAX_AGE_MS, MAX_WORK_MS } from "./wire";

/** Most requests that are told apart. */
const COUNT_MAX: i32 = 65535;

/** What the next to go is, of what a worker or gateway holds: whom others leave their room to. */
export const enum Next {
  /** Nothing is held, or what is has room and is on its way. */
  Nobody,
  /** A light request: all others that are less urgent. */
  Light,
  /** A heavy one: heavy ones only. */
  Heavy,
}

/**
 * What a gateway's queues hold, and which of those requests is next to go, behind the head of an update:
 *
 * ```
 * │held 2│next 2│priority 4│tenant 4│work ms 4│has waited ms 4│last let go ms ago 4│
 * ```
 */
@unmanaged
export class Held {
  /** Nothing is held. */
  static clear(at: usize): void {
    memory.fill(at, 0, 24);
    store<f32>(at + 20, <f32>MAX_AGE_MS);
  }

  /** @param held requests, over all workers */
  @inline
  static setCount(at: usize, held: i32): void {
    store<u16>(at, <u16>min(held, COUNT_MAX));
  }

  /** What the next to go is, and whose, by hash. */
  static setNext(at: usize, next: Next, priority: i32, tenant: u32): void {
    store<u16>(at + 2, <u16>next);
    store<i32>(at + 4, priority);
    store<u32>(at + 8, tenant);
  }
  /** Its work, how long it has waited, and how long ago one was let go last, ms. */
  static setTimes(at: usize, workMs: f64, waitedMs: f64, letGoAgeMs: f64): void {
    store<f32>(at + 12, <f32>Math.min(Math.max(workMs, 0), MAX_WORK_MS));
    store<f32>(at + 16, <f32>Math.min(Math.max(waitedMs, 0), MAX_AGE_MS));
    store<f32>(at + 20, <f32>Math.min(Math.max(letGoAgeMs, 0), MAX_AGE_MS));
  }
  /** Requests held, over all workers. */
  @inline
  static count(at: usize): i32 {
    return <i32>load<u16>(at);
  }
  /** What the next of them is: the fields below are its. */
  @inline
  static next(at: usize): Next {
    return <Next>load<u16>(at + 2);
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
