/**
 * What a worker's row and another gateway's record say of one host, wherever the bytes are:
 *
 * ```
 * │waiting 2│decoding 2│generation 1│last 1│streams 2│work ms 4│context tokens 4│newest ms 8│clock tokens 8│
 * ```
 */
const LAST_UNIT_MS: f64 = 8;
/** Most requests of one kind that a box can count. */
const COUNT_MAX: i32 = 65535;

@unmanaged
export class LoadBox {
  /** Requests sent that have not seen a first token. */
  @inline
  static waiting(box: usize): i32 {
    return <i32>load<u16>(box);
  }
  /** Requests past their first token. */
  @inline
  static decoding(box: usize): i32 {
    return <i32>load<u16>(box + 2);
  }
  /** That of the host when the box was begun: a box of another one counts for nothing. */
  @inline
  static generation(box: usize): u8 {
    return load<u8>(box + 4);
  }
  /** Expected prefill ms of what got its first token last, as of when that was; in steps of 8 up to 2,040. */
  @inline
  static lastPrefillMs(box: usize): f64 {
    return <f64>load<u8>(box + 5) * LAST_UNIT_MS;
  }
  @inline
  static setLastPrefillMs(box: usize, ms: f64): void {
    store<u8>(box + 5, <u8>Math.min(Math.round(ms / LAST_UNIT_MS), 255));
  }
  /** Those of the waiting whose answers are to be streamed: their first bytes tell when their prefill was over. */
  @inline
  static streams(box: usize): i32 {
    return <i32>load<u16>(box + 6);
  }
  /** Expected prefill milliseconds of the waiting requests. */
  @inline
  static workMs(box: usize): f64 {
    return <f64>load<f32>(box + 8);
  }
  /** Context tokens of the decoding requests. */
  @inline
  static contextTokens(box: usize): f64 {
    return <f64>load<f32>(box + 12);
  }
  /** Finish time of own queue minus its work: the `newest` of the pending-prefill formula (inflight.ts), ms. */
  @inline
  static newestMs(box: usize): f64 {
    return load<f64>(box + 16);
  }
  /** Tokens inserted into the host's cache since who wrote the box began: a part of the host's token clock. */
  @inline
  static clockTokens(box: usize): f64 {
    return load<f64>(box + 24);
  }

  /** Empties the box for a host of another generation; its clock goes on, for what was inserted stays a part of it. */
  @inline
  static begin(box: usize, generation: u8): void {
    store<u64>(box, 0);
    store<u8>(box + 4, generation);
    store<u64>(box + 8, 0);
    store<f64>(box + 16, 0);
  }

  @inline
  static setWaiting(box: usize, count: i32): void {
    store<u16>(box, <u16>min(count, COUNT_MAX));
  }
  @inline
  static setDecoding(box: usize, count: i32): void {
    store<u16>(box + 2, <u16>min(count, COUNT_MAX));
  }
  @inline
  static setStreams(box: usize, count: i32): void {
    store<u16>(box + 6, <u16>min(count, COUNT_MAX));
  }
  @inline
  static setWorkMs(box: usize, ms: f64): void {
    store<f32>(box + 8, <f32>ms);
  }
  @inline
  static setContextTokens(box: usize, tokens: f64): void {
    store<f32>(box + 12, <f32>tokens);
  }
  @inline
  static setNewestMs(box: usize, ms: f64): void {
    store<f64>(box + 16, ms);
  }
  /** The clock only goes forward. @param tokens ≥ 0 */
  @inline
  static advanceClock(box: usize, tokens: f64): void {
    store<f64>(box + 24, LoadBox.clockTokens(box) + Math.max(0, tokens));
  }
}
