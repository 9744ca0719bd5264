import { decodeGapMs } from "../../../assembly/admission/pace";

describe("decodeGapMs", () => {
  it("makes up for a prefill: that and the steps after it take the goal for each token", () => {
    const prefills: f64[] = [81, 110, 450, 2000];
    const steps: f64[] = [1, 10, 40];
    for (let i = 0; i < prefills.length; i++) {
      for (let j = 0; j < steps.length; j++) {
        const gapMs = decodeGapMs(prefills[i], steps[j], 80);
        const tokens = 1 + gapMs / steps[j];
        expect((prefills[i] + gapMs) / tokens).toBeCloseTo(80, 6);
      }
    }
  });

  it("is none where none is needed, none is asked for, or none would help", () => {
    expect(decodeGapMs(80, 10, 80)).toBe(0);
    expect(decodeGapMs(0, 10, 80)).toBe(0);
    expect(decodeGapMs(500, 10, 0)).toBe(0);
    expect(decodeGapMs(500, 80, 80)).toBe(0);
  });
});
