/**
 * Which models and adapters a server names: a part of its record (hostrecord.ts).
 *
 * ```
 * │count 4│ 4 │ HOST_MODELS × hash 8 │ HOST_MODELS × kind 1 │
 * ```
 */

import { mix } from "../prefix/hash";

/** Models and adapters that are kept per server. */
export const HOST_MODELS: i32 = 32;
const HASHES: i32 = 8;
const KINDS: i32 = HASHES + HOST_MODELS * 8;
export const MODELS_BYTES: i32 = KINDS + HOST_MODELS;

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

/** A view of their bytes, wherever those are. */
@unmanaged
export class HostModels {
  /** Models and adapters that the server names, at most HOST_MODELS; 0 = it names none. */
  count: i32;

  @inline
  hash(i: i32): u64 {
    return load<u64>(changetype<usize>(this) + <usize>(HASHES + i * 8));
  }
  @inline
  kind(i: i32): u8 {
    return load<u8>(changetype<usize>(this) + <usize>(KINDS + i));
  }
  @inline
  set(i: i32, hash: u64, kind: u8): void {
    store<u64>(changetype<usize>(this) + <usize>(HASHES + i * 8), hash);
    store<u8>(changetype<usize>(this) + <usize>(KINDS + i), kind);
  }

  /** Tells lists of names apart, their order included; 0 for none. */
  signature(): u64 {
    let sum: u64 = 0;
    for (let i = 0, count = this.count; i < count; i++) {
      sum = mix(sum, this.hash(i) + <u64>this.kind(i));
    }
    return sum;
  }

  /** What the server says of a name: `NameKind`. */
  kindOf(model: u64): u8 {
    for (let i = 0, count = this.count; i < count; i++) {
      if (this.hash(i) == model) return this.kind(i);
    }
    return <u8>NameKind.None;
  }
}
