import {
  OUTPUT_BYTES,
  capBand,
  meanOutput,
  noteOutput,
  outputQuantile,
  outputWeight,
  promptBand,
} from "../../../assembly/cost/output";

let record: usize = 0;

describe("output lengths", () => {
  beforeEach(() => {
    if (record == 0) record = heap.alloc(OUTPUT_BYTES);
    memory.fill(record, 0, OUTPUT_BYTES);
  });

  it("start at the prior", () => {
    expect(meanOutput(record, 256, 8)).toBe(256);
    expect(meanOutput(record, 256, 0)).toBe(256);
    expect(outputQuantile(record, 0.9)).toBe(-1);
  });

  it("come to the mean of what was seen", () => {
    for (let i = 0; i < 400; i++) noteOutput(record, i % 2 == 0 ? 100 : 300);
    expect(Math.abs(meanOutput(record, 256, 8) - 200)).toBeLessThan(6);
  });

  it("follow a change within some hundred answers", () => {
    for (let i = 0; i < 1000; i++) noteOutput(record, 50);
    for (let i = 0; i < 600; i++) noteOutput(record, 1000);
    expect(meanOutput(record, 256, 8)).toBeGreaterThan(900);
    expect(outputWeight(record)).toBeLessThan(201);
  });

  it("give quantiles to half an octave", () => {
    for (let i = 0; i < 100; i++) noteOutput(record, i < 90 ? 100 : 4000);
    const median = outputQuantile(record, 0.5);
    const high = outputQuantile(record, 0.99);
    expect(median >= 100 && median <= 142).toBe(true);
    expect(high >= 4000 && high <= 5800).toBe(true);
  });

  it("take any number without harm", () => {
    noteOutput(record, -5);
    noteOutput(record, 1e300);
    expect(meanOutput(record, 0, 0) <= 131072).toBe(true);
  });
});

describe("capBand", () => {
  it("tells small caps from large ones and from none", () => {
    const caps: u32[] = [0, 1, 16, 17, 64, 256, 1024, 4096, 4097, u32.MAX_VALUE];
    const bands: u32[] = [0, 1, 1, 2, 2, 3, 4, 5, 6, 6];
    for (let i = 0; i < caps.length; i++) {
      expect(capBand(caps[i])).toBe(bands[i], caps[i].toString());
    }
  });
});

describe("promptBand", () => {
  it("grows with each fourfold length", () => {
    const tokens: f64[] = [0, 3, 4, 15.9, 16, 200, 25000, 1e12, Infinity, NaN];
    const bands: u32[] = [0, 0, 1, 1, 2, 3, 7, 12, 12, 0];
    for (let i = 0; i < tokens.length; i++) {
      expect(promptBand(tokens[i])).toBe(bands[i], tokens[i].toString());
    }
  });
});
