import { Next } from "../peers/held";
import { MAX_HOSTS, ROW_HEAD, ROW_RECORD } from "./layout";

/** Where the fields of a worker's row are; layout.ts draws it. */
export const SEQ: i32 = 4;
export const HEARTBEAT: i32 = 8;
export const INSTANCE: i32 = 16;
export const COUNT: i32 = 24;
export const HELD: i32 = 28;
export const HELD_BYTES: i32 = 32;
export const LOGGED: i32 = 40;
export const NEXT_PRIORITY: i32 = 48;
export const NEXT_TENANT: i32 = 52;
export const NEXT_SINCE: i32 = 56;
export const NEXT_WORK: i32 = 64;
export const LET_GO: i32 = 72;
export const LOWEST: i32 = 80;
export const NEXT: i32 = 82;
export const PROPOSED: i32 = 84;
export const SETTLED: i32 = 86;

/** Reads the fields of one row image (own or another worker's), wherever its bytes are. */
@unmanaged
export class RowView {
  /** Changes of the row since its worker took it. */
  @inline
  static seq(row: usize): u32 {
    return load<u32>(row + SEQ);
  }
  @inline
  static heartbeatMs(row: usize): f64 {
    return load<f64>(row + HEARTBEAT);
  }
  @inline
  static instance(row: usize): u64 {
    return load<u64>(row + INSTANCE);
  }
  /** Host slots that the row has boxes for. */
  @inline
  static count(row: usize): i32 {
    const count = load<i32>(row + COUNT);
    return count < 0 ? 0 : count > MAX_HOSTS ? MAX_HOSTS : count;
  }
  /** Requests that the worker holds in its queue, and bytes of their bodies. */
  @inline
  static held(row: usize): i32 {
    return load<i32>(row + HELD);
  }
  @inline
  static heldBytes(row: usize): f64 {
    return load<f64>(row + HELD_BYTES);
  }
  /** Changes that the row's workers ever put into its journal. */
  @inline
  static logged(row: usize): u64 {
    return load<u64>(row + LOGGED);
  }
  /** What goes next from the worker's queue, as far as others are to leave their room to it. */
  @inline
  static next(row: usize): Next {
    return RowView.held(row) > 0 ? <Next>load<u16>(row + NEXT) : Next.Nobody;
  }
  /** Of that request: priority, a part of its tenant's hash, since when it waits, its work. */
  @inline
  static nextPriority(row: usize): i32 {
    return load<i32>(row + NEXT_PRIORITY);
  }
  @inline
  static nextTenant(row: usize): u32 {
    return load<u32>(row + NEXT_TENANT);
  }
  @inline
  static nextSinceMs(row: usize): f64 {
    return load<f64>(row + NEXT_SINCE);
  }
  @inline
  static nextWorkMs(row: usize): f64 {
    return load<f64>(row + NEXT_WORK);
  }
  /** When the worker last let a held request go. */
  @inline
  static letGoMs(row: usize): f64 {
    return load<f64>(row + LET_GO);
  }
  /** Lowest priority in the worker's queue, at most: some of it may have left since. */
  @inline
  static lowestPriority(row: usize): i32 {
    return <i32>load<i16>(row + LOWEST);
  }
  /** Heavy prompts that the worker ever proposed to send somewhere, and that it then did or gave up, modulo 2^16. */
  @inline
  static proposed(row: usize): u16 {
    return load<u16>(row + PROPOSED);
  }
  @inline
  static settled(row: usize): u16 {
    return load<u16>(row + SETTLED);
  }
  @inline
  static box(row: usize, slot: i32): usize {
    return row + ROW_HEAD + <usize>slot * ROW_RECORD;
  }
}
