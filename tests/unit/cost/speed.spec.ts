import { FACTOR_MAX, FACTOR_MIN, learnFactor, stepMs } from "../../../assembly/cost/speed";

/** The factor after `count` samples of a server that takes `times` as long as the prior. */
function learned(times: f64, count: i32): f64 {
  let factor: f64 = 0;
  for (let i = 0; i < count; i++) {
    const predicted = 100 * (factor > 0 ? factor : 1);
    factor = learnFactor(factor, i, 100 * times, predicted, 1);
  }
  return factor;
}

describe("learnFactor", () => {
  it("finds the speed of slower and faster servers within a few samples", () => {
    const truths: f64[] = [0.2, 0.5, 1, 3, 10];
    for (let i = 0; i < truths.length; i++) {
      const error = Math.abs(learned(truths[i], 20) / truths[i] - 1);
      expect(error).toBeLessThan(0.02, truths[i].toString());
    }
  });

  it("moves little on one odd sample", () => {
    const settled = learned(1, 50);
    expect(learnFactor(settled, 50, 100000, 100, 1)).toBeLessThan(1.1);
    expect(learnFactor(settled, 50, 0.001, 100, 1)).toBeGreaterThan(0.9);
  });

  it("stays within its bounds", () => {
    expect(learned(1e9, 1000)).toBe(FACTOR_MAX);
    expect(learned(1e-9, 1000)).toBe(FACTOR_MIN);
  });

  it("learns nothing from what says nothing", () => {
    expect(learnFactor(2, 5, NaN, 100, 1)).toBe(2);
    expect(learnFactor(2, 5, 100, 0, 1)).toBe(2);
    expect(learnFactor(2, 5, 100, 50, 0)).toBe(2);
    expect(learnFactor(0, 0, -1, 50, 1)).toBe(1);
  });
});

describe("stepMs", () => {
  it("is the engine model's", () => {
    expect(stepMs(8, 0.25, 16, 1)).toBe(12);
    expect(stepMs(8, 0.25, 16, 3)).toBe(36);
  });
});
