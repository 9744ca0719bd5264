import { PLACEMENT_HEAD } from "./wire";

/** Of a placement: its first boundary is where a conversation left others. */
export const FLAG_FORK: u8 = 1;

/** Tokens in a step of a placement's cached tokens. */
const CACHED_UNIT: f64 = 64;
/** Steps of uncached tokens in a doubling: in seven bits, up to 290,000, each within 5 %. */
const STEPS_PER_OCTAVE: f64 = 7;
const STEP_MAX: f64 = 127;

/** A request that went to a host, and the boundaries of its prompt that are new there. */
@unmanaged
export class Placement {
  /**
   * A placement of which nothing is said yet but how long it is.
   * @param host its slot; in a message its position among the rows
   * @param ids boundaries that it names
   * @param chainLength of its whole chain
   */
  static begin(at: usize, host: i32, ids: i32, chainLength: i32): void {
    memory.fill(at, 0, PLACEMENT_HEAD);
    store<u16>(at, <u16>host);
    store<u16>(at + 2, <u16>ids);
    store<u8>(at + 5, <u8>min(chainLength, 255));
  }
  /** Its first boundary is where a conversation left others. */
  @inline
  static setFork(at: usize): void {
    store<u8>(at + 4, load<u8>(at + 4) | FLAG_FORK);
  }
  /** Prompt tokens expected in the host's cache, and those that it has to compute. */
  static setTokens(at: usize, cached: f64, uncached: f64): void {
    const step = Math.round(Math.log2(Math.max(uncached, 0) + 1) * STEPS_PER_OCTAVE);
    const flags = load<u8>(at + 4) & FLAG_FORK;
    store<u8>(at + 4, flags | ((<u8>Math.min(step, STEP_MAX)) << 1));
    store<u16>(at + 6, <u16>Math.min(cached / CACHED_UNIT, <f64>u16.MAX_VALUE));
  }
  /** Tags of its conversation in the location table, 0 for none. */
  @inline
  static setTags(at: usize, conversation: u64, anyModel: u64): void {
    store<u64>(at + 8, conversation);
    store<u64>(at + 16, anyModel);
  }
  /** Position of its host among the message's rows. */
  @inline
  static host(at: usize): i32 {
    return <i32>load<u16>(at);
  }
  @inline
  static setHost(at: usize, v: i32): void {
    store<u16>(at, <u16>v);
  }
  @inline
  static ids(at: usize): i32 {
    return <i32>load<u16>(at + 2);
  }
  @inline
  static isFork(at: usize): bool {
    return (load<u8>(at + 4) & FLAG_FORK) != 0;
  }
  /** Length of its whole chain; 255 stands for any longer one. */
  @inline
  static chainLength(at: usize): i32 {
    return <i32>load<u8>(at + 5);
  }
  /** Prompt tokens expected in the host's cache, up to the first of its boundaries; 0 for none. */
  @inline
  static cachedTokens(at: usize): f64 {
    return <f64>load<u16>(at + 6) * CACHED_UNIT;
  }
  /** Prompt tokens that the host has to compute. */
  @inline
  static uncachedTokens(at: usize): f64 {
    return Math.pow(2, <f64>(load<u8>(at + 4) >> 1) / STEPS_PER_OCTAVE) - 1;
  }
  /** Tags of its conversation in the location table, 0 for none. */
  @inline
  static conversation(at: usize): u64 {
    return load<u64>(at + 8);
  }
  @inline
  static anyModel(at: usize): u64 {
    return load<u64>(at + 16);
  }
  @inline
  static id(at: usize, i: i32): u64 {
    return load<u64>(at + <usize>PLACEMENT_HEAD + ((<usize>i) << 3));
  }
  @inline
  static setId(at: usize, i: i32, v: u64): void {
    store<u64>(at + <usize>PLACEMENT_HEAD + ((<usize>i) << 3), v);
  }
  /** Its bytes on the wire. */
  @inline
  static size(at: usize): i32 {
    return PLACEMENT_HEAD + (Placement.ids(at) << 3);
  }
}
