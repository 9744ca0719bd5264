/**
 * 64-bit hashes of bytes that come in pieces. Four lanes of 8 bytes each take 32 bytes a step, each
 * by XXH64's round; a carry makes the result independent of where the pieces are cut. Good for
 * telling contents apart, not against somebody who builds collisions on purpose: what must not be
 * guessed is in the seed. No hash is ever 0, so 0 can say "none".
 */
import { copyShort } from "../bytes";

const BLOCK: i32 = 32;
const K1: u64 = 0x9e3779b185ebca87;
const K2: u64 = 0xc2b2ae3d27d4eb4f;
const K3: u64 = 0x165667b19e3779f9;
const K4: u64 = 0x85ebca77c2b2ae63;

/** Every input bit changes every output bit with probability near 1/2 (murmur3's finaliser). */
@inline
function avalanche(value: u64): u64 {
  let x = value;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

/** Hash of the pair (a, b); the order counts. */
export function mix(a: u64, b: u64): u64 {
  const x = avalanche((a * K1) ^ rotl(b * K2 + K3, 31));
  return x == 0 ? 1 : x;
}

/** Hash of `len` bytes: what a fresh `Hasher` gives for them. */
export function hashBytes(ptr: usize, len: i32): u64 {
  if (len < BLOCK) return hashShort(0, ptr, max(len, 0));
  shared.reset(0);
  shared.update(ptr, len);
  return shared.digest();
}

/**
 * Hash of fewer than 32 bytes, read by loads that may overlap: what a `Hasher` gives for them too.
 */
function hashShort(seed: u64, ptr: usize, len: i32): u64 {
  let a: u64 = 0;
  let b: u64 = 0;
  let c: u64 = 0;
  let d: u64 = 0;
  if (len >= 16) {
    a = load<u64>(ptr);
    b = load<u64>(ptr, 8);
    c = load<u64>(ptr + len - 16);
    d = load<u64>(ptr + len - 8);
  } else if (len >= 8) {
    a = load<u64>(ptr);
    b = load<u64>(ptr + len - 8);
  } else if (len >= 4) {
    a = load<u32>(ptr);
    b = load<u32>(ptr + len - 4);
  } else if (len > 0) {
    const middle = <u64>load<u8>(ptr + (len >> 1));
    a = <u64>load<u8>(ptr) | (middle << 8) | ((<u64>load<u8>(ptr + len - 1)) << 16);
  }
  return finish(
    step(seed ^ K1, a),
    step(seed + K2, b),
    step(seed ^ K3, c),
    step(seed + K4, d),
    len,
  );
}

@inline
function finish(a: u64, b: u64, c: u64, d: u64, total: u64): u64 {
  const left = (a * K3) ^ rotl(b, 23);
  const right = (c * K4) ^ rotl(d, 41);
  const x = avalanche(left + right * K1 + total * K2);
  return x == 0 ? 1 : x;
}

/**
 * The word is multiplied before it is added, so that no small change of a later word takes back a
 * small change of an earlier one.
 */
@inline
function step(lane: u64, word: u64): u64 {
  return rotl(lane + word * K2, 31) * K1;
}

/** A hash under way. */
@final
export class Hasher {
  private seed: u64 = 0;
  private a: u64 = 0;
  private b: u64 = 0;
  private c: u64 = 0;
  private d: u64 = 0;
  /** Bytes taken since `reset`. */
  private total: u64 = 0;
  /** The last incomplete block, zero behind its end. */
  private carry: StaticArray<u8> = new StaticArray<u8>(BLOCK);

  constructor() {
    this.reset(0);
  }

  /** Starts anew from `seed`. */
  reset(seed: u64): void {
    this.seed = seed;
    this.a = seed ^ K1;
    this.b = seed + K2;
    this.c = seed ^ K3;
    this.d = seed + K4;
    this.total = 0;
    this.clearCarry();
  }

  /** Whether nothing came since `reset`. */
  get isEmpty(): bool {
    return this.total == 0;
  }

  /** Takes over the state of `from`. */
  copyFrom(from: Hasher): void {
    this.seed = from.seed;
    this.a = from.a;
    this.b = from.b;
    this.c = from.c;
    this.d = from.d;
    this.total = from.total;
    const to = changetype<usize>(this.carry);
    const source = changetype<usize>(from.carry);
    v128.store(to, v128.load(source));
    v128.store(to, v128.load(source, 16), 16);
  }

  /** Takes the next `len` bytes. */
  update(ptr: usize, len: i32): void {
    if (len <= 0) return;
    const carry = changetype<usize>(this.carry);
    const held = <i32>this.total & (BLOCK - 1);
    this.total += len;
    let p = ptr;
    let left = len;
    if (held != 0) {
      const wanted = BLOCK - held;
      if (left < wanted) {
        copyShort(carry + held, p, left);
        return;
      }
      copyShort(carry + held, p, wanted);
      this.blocks(carry, 1);
      this.clearCarry();
      p += wanted;
      left -= wanted;
    }
    const whole = left >> 5;
    if (whole != 0) {
      this.blocks(p, whole);
      p += whole << 5;
      left &= BLOCK - 1;
    }
    if (left != 0) copyShort(carry, p, left);
  }

  /** Takes `word` as 4 bytes. */
  updateU32(word: u32): void {
    const held = <i32>this.total & (BLOCK - 1);
    if (held <= BLOCK - 8) {
      store<u32>(changetype<usize>(this.carry) + held, word);
      this.total += 4;
      return;
    }
    store<u32>(wordBytes, word);
    this.update(wordBytes, 4);
  }

  /** The hash of all bytes so far; more may follow. */
  digest(): u64 {
    const carry = changetype<usize>(this.carry);
    if (this.total < <u64>BLOCK) return hashShort(this.seed, carry, <i32>this.total);
    return finish(
      step(this.a, load<u64>(carry)),
      step(this.b, load<u64>(carry, 8)),
      step(this.c, load<u64>(carry, 16)),
      step(this.d, load<u64>(carry, 24)),
      this.total,
    );
  }

  private blocks(ptr: usize, count: i32): void {
    let a = this.a;
    let b = this.b;
    let c = this.c;
    let d = this.d;
    const end = ptr + ((<usize>count) << 5);
    for (let p = ptr; p < end; p += BLOCK) {
      a = step(a, load<u64>(p));
      b = step(b, load<u64>(p, 8));
      c = step(c, load<u64>(p, 16));
      d = step(d, load<u64>(p, 24));
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
  }

  private clearCarry(): void {
    const carry = changetype<usize>(this.carry);
    v128.store(carry, i64x2.splat(0));
    v128.store(carry, i64x2.splat(0), 16);
  }
}

const wordBytes = memory.data(4);
const shared = new Hasher();
