import { MAX_AGE_MS, MAX_CLOCK, MAX_CONTEXT, MAX_WORK_MS, ROW_BYTES } from "./wire";

const LEARNED: usize = 32;
const STREAMS: usize = 38;
/** Most requests of one kind that a row can count. */
const COUNT_MAX: i32 = 65535;

/** What a gateway has in flight at one host. */
@unmanaged
export class Row {
  /** A row of a host, of which nothing is said yet. @param host hash of its address */
  static begin(at: usize, host: u64): void {
    memory.fill(at, 0, ROW_BYTES);
    store<u64>(at, host);
  }
  /** Requests without a first token, those of them that are to be streamed, and those past their first token. */
  static setCounts(at: usize, waiting: i32, streams: i32, decoding: i32): void {
    store<u16>(at + 8, <u16>min(waiting, COUNT_MAX));
    store<u16>(at + 10, <u16>min(decoding, COUNT_MAX));
    store<u16>(at + STREAMS, <u16>min(streams, COUNT_MAX));
  }
  /** Prefill ms of the waiting, as of `newestAgeMs` ago, and context tokens of the decoding. */
  static setLoad(at: usize, workMs: f64, contextTokens: f64, newestAgeMs: f64): void {
    store<f32>(at + 12, <f32>Math.min(Math.max(workMs, 0), MAX_WORK_MS));
    store<f32>(at + 16, <f32>Math.min(Math.max(contextTokens, 0), MAX_CONTEXT));
    store<f32>(at + 20, <f32>Math.min(Math.max(newestAgeMs, 0), MAX_AGE_MS));
  }
  static setClockTokens(at: usize, tokens: f64): void {
    store<f64>(at + 24, Math.min(Math.max(tokens, 0), MAX_CLOCK));
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
  /** Address of what it learned of the host's speed; nothing, after `begin`. */
  @inline
  static learned(at: usize): usize {
    return at + LEARNED;
  }
}
