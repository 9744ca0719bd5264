/**
 * Which models and adapters a server names: a part of its record (hostrecord.ts).
 *
 * ```
 * 120 count 2      168 HOST_MODELS × (hash 8) · HOST_MODELS × (kind 1)
 * ```
 */

import { mix } from "../prefix/hash";

/** Models and adapters that are kept per server. */
export const HOST_MODELS: i32 = 32;
const COUNT: i32 = 120;
const HASHES: i32 = 168;
const KINDS: i32 = HASHES + HOST_MODELS * 8;
/** Where they end in the record. */
export const MODELS_END: i32 = KINDS + HOST_MODELS;

/** What a server said of a name. */
export const enum NameKind {
  /** Nothing. */
  None = 0,
  /** A base model that it serves. */
  Model = 1,
  /** An adapter that requests wait for. */
  WaitingAdapter = 2,
  /** An adapter that is loaded. */
  LoadedAdapter = 3,
}

/** Field access on one record, wherever its bytes are. */
@unmanaged
export class HostModels {
  /** Models and adapters that it names; 0 = it names none. */
  @inline
  static count(at: usize): i32 {
    return <i32>load<u16>(at + COUNT);
  }
  @inline
  static setCount(at: usize, v: i32): void {
    store<u16>(at + COUNT, <u16>min(v, HOST_MODELS));
  }
  @inline
  static hash(at: usize, i: i32): u64 {
    return load<u64>(at + <usize>(HASHES + i * 8));
  }
  @inline
  static kind(at: usize, i: i32): u8 {
    return load<u8>(at + <usize>(KINDS + i));
  }
  @inline
  static set(at: usize, i: i32, hash: u64, kind: u8): void {
    store<u64>(at + <usize>(HASHES + i * 8), hash);
    store<u8>(at + <usize>(KINDS + i), kind);
  }

  /** Tells lists of names apart, their order included; 0 for none. */
  static signature(at: usize): u64 {
    let sum: u64 = 0;
    for (let i = 0, count = HostModels.count(at); i < count; i++) {
      sum = mix(sum, HostModels.hash(at, i) + <u64>HostModels.kind(at, i));
    }
    return sum;
  }

  /** What the server says of a name: `NameKind`. */
  static kindOf(at: usize, model: u64): u8 {
    const count = HostModels.count(at);
    for (let i = 0; i < count; i++) {
      if (HostModels.hash(at, i) == model) return HostModels.kind(at, i);
    }
    return <u8>NameKind.None;
  }
}
