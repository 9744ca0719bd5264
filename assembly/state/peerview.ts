import { Next } from "../peers/held";
import { Sequence } from "../peers/sequence";
import { MAX_HOSTS } from "./layout";
import { BOX } from "./peerbox";

/** Without a measurement for this long a gateway's messages can't be told from late ones, ms. */
const UNMEASURED_MS: f64 = 5000;

/** Where the fields of a gateway's record are; peers.ts draws it. */
export const HIGHEST: usize = 4;
export const SEEN: usize = 8;
export const GATEWAY: usize = 16;
export const HEARD_MS: usize = 24;
export const AHEAD_MS: usize = 32;
export const ROUND_TRIP_MS: usize = 40;
export const MEASURED_MS: usize = 48;
export const SLOTS: usize = 56;
export const LATE_MS: usize = 60;
export const HELD: usize = 64;
export const NEXT: usize = 66;
export const HELD_PRIORITY: usize = 68;
export const HELD_TENANT: usize = 72;
export const HELD_WORK: usize = 76;
export const HELD_SINCE: usize = 80;
export const HELD_LET_GO: usize = 88;
export const PROPOSED: usize = 96;
export const SETTLED: usize = 98;
export const HEAD: i32 = 104;

/** Reads what is known of one gateway, wherever the bytes are. */
@unmanaged
export class PeerView {
  /** Its name; 0 for nobody. */
  @inline
  static gateway(at: usize): u64 {
    return load<u64>(at + GATEWAY);
  }
  /** When its last message was true, ms. */
  @inline
  static heardMs(at: usize): f64 {
    return load<f64>(at + HEARD_MS);
  }
  /** How old it was when it came, ms. */
  @inline
  static lateMs(at: usize): f64 {
    return <f64>load<f32>(at + LATE_MS);
  }
  /** Whether its messages' age can be told. */
  @inline
  static isMeasured(at: usize, nowMs: f64): bool {
    return nowMs - load<f64>(at + MEASURED_MS) < UNMEASURED_MS;
  }
  /** Host slots that it has boxes for. */
  @inline
  static slots(at: usize): i32 {
    const slots = load<i32>(at + SLOTS);
    return slots < 0 ? 0 : slots > MAX_HOSTS ? MAX_HOSTS : slots;
  }
  /** Requests that it holds. */
  @inline
  static held(at: usize): i32 {
    return <i32>load<u16>(at + HELD);
  }
  /** What the next of them to go is; its priority, tenant, work and time. */
  @inline
  static next(at: usize): Next {
    return <Next>load<u16>(at + NEXT);
  }
  @inline
  static nextPriority(at: usize): i32 {
    return load<i32>(at + HELD_PRIORITY);
  }
  @inline
  static nextTenant(at: usize): u32 {
    return load<u32>(at + HELD_TENANT);
  }
  @inline
  static nextWorkMs(at: usize): f64 {
    return <f64>load<f32>(at + HELD_WORK);
  }
  @inline
  static nextSinceMs(at: usize): f64 {
    return load<f64>(at + HELD_SINCE);
  }
  /** When it last let one go, ms. */
  @inline
  static letGoMs(at: usize): f64 {
    return load<f64>(at + HELD_LET_GO);
  }
  /** Number of its last message that came. */
  @inline
  static highest(at: usize): u32 {
    return load<u32>(at + HIGHEST);
  }
  /** Which of those up to it have come (peers/sequence.ts). */
  @inline
  static seen(at: usize): u64 {
    return load<u64>(at + SEEN);
  }
  /** Whether of its last few messages one is missing that may still come. */
  static isTorn(at: usize): bool {
    const highest = PeerView.highest(at);
    return !Sequence.isWhole(highest, PeerView.seen(at), highest);
  }
  /** Heavy prompts that it proposed, and settled, modulo 2^16. */
  @inline
  static proposed(at: usize): u16 {
    return load<u16>(at + PROPOSED);
  }
  @inline
  static settled(at: usize): u16 {
    return load<u16>(at + SETTLED);
  }
  @inline
  static box(at: usize, slot: i32): usize {
    return at + <usize>(HEAD + slot * BOX);
  }
}
