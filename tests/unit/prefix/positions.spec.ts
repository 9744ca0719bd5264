import { positionAt } from "../../../assembly/prefix/positions";

describe("positionAt", () => {
  it("begins fine and grows by an eighth at most", () => {
    const first: u32[] = [16, 64, 256, 1024, 1152, 1280, 1408, 1536, 1728, 1920, 2112];
    for (let i = 0; i < first.length; i++) expect(positionAt(i)).toBe(first[i]);
    for (let i = 4; positionAt(i) < 1 << 30; i++) {
      const before = positionAt(i - 1);
      const step = positionAt(i) - before;
      expect(step > 0 && step <= before / 8).toBe(true);
      expect(positionAt(i) % 64).toBe(0);
    }
  });

  it("has an end that nothing passes", () => {
    expect(positionAt(127)).toBeGreaterThan(1 << 30);
    expect(positionAt(128)).toBe(u32.MAX_VALUE);
    expect(positionAt(100000)).toBe(u32.MAX_VALUE);
  });
});
