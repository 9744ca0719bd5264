import { Row } from "../peers/row";
import { LoadBox } from "./loadbox";

const THEIR_CLOCK: usize = 32;
const SAID_IN: usize = 40;
const LEARNED: usize = 48;
const LEARNED_BYTES: i32 = 6;
/** Bytes of a box. */
export const BOX: i32 = 56;

/**
 * What another gateway told of one host, in its record (peers.ts): a load box, whose clock counts what was inserted since the
 * gateway was first heard of here; the gateway's own clock; in which message it was said; and the speeds that it learned.
 */
@unmanaged
export class PeerBox {
  /** Empties the box for a host of another generation, about which nothing was said yet. */
  static begin(box: usize, generation: u8): void {
    memory.fill(box, 0, BOX);
    LoadBox.begin(box, generation);
  }

  /** Nothing is in flight there any more; what was inserted into the host's cache stays. @param message that says so */
  static clear(box: usize, message: u32): void {
    LoadBox.setWaiting(box, 0);
    LoadBox.setDecoding(box, 0);
    LoadBox.setStreams(box, 0);
    LoadBox.setWorkMs(box, 0);
    LoadBox.setContextTokens(box, 0);
    LoadBox.setNewestMs(box, 0);
    store<u32>(box + SAID_IN, message);
  }

  /** The place gets another gateway: its clock and speeds are its own. */
  static renew(box: usize): void {
    PeerBox.clear(box, 0);
    store<f64>(box + THEIR_CLOCK, 0);
    store<u64>(box + LEARNED, 0);
  }

  /** Whether a message is older than the one that the box tells of. */
  @inline
  static isOlder(box: usize, message: u32): bool {
    return <i32>(message - load<u32>(box + SAID_IN)) < 0;
  }

  /** Takes what a gateway says that it inserted; from its first word on, what was there before is no news. */
  static takeClock(box: usize, tokens: f64): void {
    const before = load<f64>(box + THEIR_CLOCK);
    if (before > 0) LoadBox.advanceClock(box, tokens - before);
    store<f64>(box + THEIR_CLOCK, Math.max(Math.max(before, tokens), f64.MIN_NORMAL_VALUE));
  }

  /** Takes a row's load. @param saidMs when it was true, ms */
  static takeLoad(box: usize, row: usize, message: u32, saidMs: f64): void {
    store<u32>(box + SAID_IN, message);
    LoadBox.setWaiting(box, Row.waiting(row));
    LoadBox.setDecoding(box, Row.decoding(row));
    LoadBox.setStreams(box, Row.streams(row));
    LoadBox.setWorkMs(box, Row.workMs(row));
    LoadBox.setContextTokens(box, Row.contextTokens(row));
    LoadBox.setNewestMs(box, saidMs - Row.newestAgeMs(row));
    memory.copy(box + LEARNED, Row.learned(row), LEARNED_BYTES);
  }

  /** What the gateway learned of the host's speed (peers/learned.ts). */
  @inline
  static learned(box: usize): usize {
    return box + LEARNED;
  }
}
