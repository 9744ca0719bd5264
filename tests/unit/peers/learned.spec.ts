import { Learned } from "../../../assembly/peers/learned";

const at: usize = heap.alloc(8);

describe("Learned", () => {
  it("says factors to a thousandth of their logarithm, and settled evidence as twelve answers", () => {
    Learned.write(at, 2.5, 3, 0.001, 500);
    expect(Math.abs(Learned.prefillLog(at) - Math.log(2.5))).toBeLessThan(0.001);
    expect(Learned.prefillSamples(at)).toBe(3);
    expect(Math.abs(Learned.decodeLog(at) - Math.log(0.001))).toBeLessThan(0.001);
    expect(Learned.decodeSamples(at)).toBe(12);
  });

  it("says nothing of what wasn't learned", () => {
    Learned.write(at, 0, 7, 3, 0);
    expect(Learned.prefillSamples(at)).toBe(0);
    expect(Learned.decodeSamples(at)).toBe(0);
    // A first token alone: a factor, but no whole answer yet.
    Learned.write(at, 1.5, 0, 0, 0);
    expect(Learned.prefillSamples(at)).toBe(0);
  });

  it("believes no more than settled evidence, whatever the bytes say", () => {
    store<i16>(at, 32767);
    store<i16>(at + 2, -32768);
    store<u16>(at + 4, 0xffff);
    expect(Learned.prefillSamples(at)).toBe(12);
    expect(Learned.decodeSamples(at)).toBe(12);
    expect(Learned.prefillLog(at)).toBe(7);
    expect(Learned.decodeLog(at)).toBe(-7);
  });
});
