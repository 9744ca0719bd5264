import { MAX_AGE_MS, MAX_CLOCK, MAX_CONTEXT, MAX_WORK_MS } from "./wire";

const LEARNED: usize = 32;
const STREAMS: usize = 38;

/** What a gateway has in flight at one host. */
@unmanaged
export class Row {
  static write(
    at: usize,
    host: u64,
    waiting: i32,
    streams: i32,
    decoding: i32,
    workMs: f64,
    contextTokens: f64,
    newestAgeMs: f64,
    clockTokens: f64,
  ): void {
    store<u64>(at + LEARNED, 0);
    store<u64>(at, host);
    store<u16>(at + STREAMS, <u16>min(streams, 65535));
    store<u16>(at + 8, <u16>min(waiting, 65535));
    store<u16>(at + 10, <u16>min(decoding, 65535));
    store<f32>(at + 12, <f32>Math.min(Math.max(workMs, 0), MAX_WORK_MS));
    store<f32>(at + 16, <f32>Math.min(Math.max(contextTokens, 0), MAX_CONTEXT));
    store<f32>(at + 20, <f32>Math.min(Math.max(newestAgeMs, 0), MAX_AGE_MS));
    store<f64>(at + 24, Math.min(Math.max(clockTokens, 0), MAX_CLOCK));
  }
  @inline
  static host(at: usize): u64 {
    return load<u64>(at);
  }
  /** Requests without a first token. */
  @inline
  static waiting(at: usize): i32 {
    return <i32>load<u16>(at + 8);
  }
  /** Those of them whose answers are to be streamed. */
  @inline
  static streams(at: usize): i32 {
    return <i32>load<u16>(at + STREAMS);
  }
  /** Requests past their first token. */
  @inline
  static decoding(at: usize): i32 {
    return <i32>load<u16>(at + 10);
  }
  /** Expected prefill ms of the waiting. */
  @inline
  static workMs(at: usize): f64 {
    return <f64>load<f32>(at + 12);
  }
  @inline
  static contextTokens(at: usize): f64 {
    return <f64>load<f32>(at + 16);
  }
  /** How long ago the queue was as long as `workMs` says, ms. */
  @inline
  static newestAgeMs(at: usize): f64 {
    return <f64>load<f32>(at + 20);
  }
  /** Tokens that the gateway ever had inserted into the host's cache. */
  @inline
  static clockTokens(at: usize): f64 {
    return load<f64>(at + 24);
  }
  /** Address of what it learned of the host's speed; nothing, after `write`. */
  @inline
  static learned(at: usize): usize {
    return at + LEARNED;
  }
}
