import { learnBytesPerToken, promptTokens, scriptBand } from "../../../assembly/cost/tokens";

describe("bytes per token", () => {
  it("comes within 5 % of the truth after 50 answers", () => {
    const truths: f64[] = [2.1, 3.3, 4.7];
    for (let t = 0; t < truths.length; t++) {
      let ratio: f64 = 4;
      for (let i = 0; i < 50; i++) {
        const bytes = <f64>(500 + 97 * i);
        ratio = learnBytesPerToken(ratio, i, bytes, 0, Math.ceil(bytes / truths[t]));
      }
      expect(Math.abs(ratio / truths[t] - 1)).toBeLessThan(0.05);
    }
  });

  it("leaves images out and learns nothing from tiny or absurd answers", () => {
    expect(learnBytesPerToken(4, 0, 4000, 1024, 2024)).toBe(4);
    expect(learnBytesPerToken(4, 0, 10, 0, 9)).toBe(4);
    expect(learnBytesPerToken(4, 0, 4000, 1024, 1000)).toBe(4);
    expect(learnBytesPerToken(4, 0, 4000, 0, NaN)).toBe(4);
    expect(learnBytesPerToken(4, 0, 4000000, 0, 1)).toBe(16);
  });

  it("counts ids and images as they are", () => {
    expect(promptTokens(400, 1024, 4)).toBe(1124);
  });
});

describe("scriptBand", () => {
  it("tells scripts by their bytes per code point", () => {
    expect(scriptBand(1000, 1000)).toBe(0, "English");
    expect(scriptBand(1040, 1000)).toBe(0, "French");
    expect(scriptBand(1300, 1000)).toBe(1, "Vietnamese, or code with Chinese comments");
    expect(scriptBand(1850, 1000)).toBe(2, "Russian");
    expect(scriptBand(2800, 1000)).toBe(3, "Chinese");
    expect(scriptBand(0, 0)).toBe(0);
    expect(scriptBand(10, 0)).toBe(0);
    expect(scriptBand(NaN, NaN)).toBe(0);
  });
});
