import { text } from "../../../assembly/bytes";
import { hashBytes, Hasher, mix } from "../../../assembly/prefix/hash";

const bytes = new StaticArray<u8>(200);
for (let i = 0; i < 200; i++) bytes[i] = <u8>(i * 7 + 3);
const ptr = changetype<usize>(bytes);

/** Bits in which two hashes differ. */
function distance(a: u64, b: u64): i32 {
  return <i32>popcnt(a ^ b);
}

function flip(ptr: usize, bit: i32): void {
  const at = ptr + (bit >> 3);
  store<u8>(at, load<u8>(at) ^ ((<u8>1) << (<u8>(bit & 7))));
}

describe("Hasher", () => {
  it("gives the same however the bytes are cut", () => {
    const hasher = new Hasher();
    for (let len = 0; len < 140; len++) {
      const whole = hashBytes(ptr, len);
      for (let cut = 0; cut <= len; cut++) {
        hasher.reset(0);
        hasher.update(ptr, cut);
        // A look in between changes nothing.
        expect(hasher.digest()).toBe(hashBytes(ptr, cut));
        hasher.update(ptr + cut, len - cut);
        expect(hasher.digest()).toBe(whole);
      }
    }
  });

  it("goes on from a copy", () => {
    const first = new Hasher();
    const second = new Hasher();
    for (let cut = 0; cut < 100; cut++) {
      first.reset(5);
      first.update(ptr, cut);
      second.reset(9);
      second.update(ptr + 50, 77);
      second.copyFrom(first);
      first.update(ptr + cut, 60);
      second.update(ptr + cut, 60);
      expect(second.digest()).toBe(first.digest());
    }
  });

  it("takes a word as its four bytes", () => {
    const words = new Hasher();
    const plain = new Hasher();
    for (let i = 0; i < 40; i++) {
      words.updateU32(load<u32>(ptr + i * 4));
      plain.update(ptr + i * 4, 4);
      expect(words.digest()).toBe(plain.digest());
    }
  });

  it("depends on the seed, on the length and on every bit", () => {
    const copy = new StaticArray<u8>(100);
    const to = changetype<usize>(copy);
    const lengths: i32[] = [1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100];
    for (let k = 0; k < lengths.length; k++) {
      const len = lengths[k];
      memory.copy(to, ptr, len);
      const before = hashBytes(to, len);
      expect(before).not.toBe(hashBytes(to, len - 1));
      let sum = 0;
      for (let bit = 0; bit < len * 8; bit++) {
        flip(to, bit);
        const moved = distance(before, hashBytes(to, len));
        expect(moved).toBeGreaterThan(8);
        sum += moved;
        flip(to, bit);
      }
      const mean = <f64>sum / <f64>(len * 8);
      expect(mean).toBeGreaterThan(28);
      expect(mean).toBeLessThan(36);
    }
    const seeded = new Hasher();
    seeded.reset(1);
    seeded.update(ptr, 50);
    expect(seeded.digest()).not.toBe(hashBytes(ptr, 50));
  });

  it("finds no two alike among small changes of one text", () => {
    const copy = new StaticArray<u8>(256);
    const to = changetype<usize>(copy);
    const seen = new Set<u64>();
    let count = 0;
    for (let kind = 0; kind < 3; kind++) {
      for (let i = 0; i < 256; i++)
        copy[i] = kind == 0 ? 0 : kind == 1 ? 0x61 : <u8>(0x30 + (i % 10));
      for (let bit = 0; bit < 2048; bit++) {
        flip(to, bit);
        seen.add(hashBytes(to, 256));
        // And with the same change 1, 4, 8, 28, 32 and 36 bytes on.
        for (let k = 0; k < 6; k++) {
          const second = bit + [8, 32, 64, 224, 256, 288][k];
          if (second >= 2048) continue;
          flip(to, second);
          seen.add(hashBytes(to, 256));
          flip(to, second);
          count++;
        }
        flip(to, bit);
        count++;
      }
    }
    expect(seen.size).toBe(count);
  });

  it("finds no two alike among many short texts", () => {
    const seen = new Set<u64>();
    for (let i = 0; i < 20000; i++) {
      const t = text("s-" + i.toString());
      seen.add(hashBytes(t.ptr, t.len));
    }
    expect(seen.size).toBe(20000);
  });
});

describe("mix", () => {
  it("tells the order and is never 0", () => {
    const seen = new Set<u64>();
    for (let a: u64 = 0; a < 100; a++) {
      for (let b: u64 = 0; b < 100; b++) {
        const x = mix(a, b);
        expect(x != 0).toBe(true);
        seen.add(x);
      }
    }
    expect(seen.size).toBe(10000);
  });
});
