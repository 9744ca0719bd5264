import { text } from "../../assembly/bytes";
import { numberOk, parseNumber } from "../../assembly/number";

function valueOf(spelled: string): f64 {
  const t = text(spelled);
  return parseNumber(t.ptr, t.len);
}

describe("parseNumber", () => {
  it("reads what JSON and metrics spell", () => {
    const spelled: string[] = [
      "0",
      "-0.5",
      "12.75",
      "1e3",
      "1E+3",
      "2.5e-3",
      "0.63",
      "1e20",
      "+4",
      "1.",
      ".5",
      "20113756",
      "1e400",
      "-1e400",
      "1e-400",
      "+Inf",
      "-inf",
      "Infinity",
    ];
    const values: f64[] = [
      0,
      -0.5,
      12.75,
      1000,
      1000,
      0.0025,
      0.63,
      1e20,
      4,
      1,
      0.5,
      20113756,
      Infinity,
      -Infinity,
      0,
      Infinity,
      -Infinity,
      Infinity,
    ];
    for (let i = 0; i < spelled.length; i++)
      expect(valueOf(spelled[i])).toBe(values[i], spelled[i]);
  });

  it("tells what is no number", () => {
    const bad: string[] = ["", "-", "e5", "1e", "1e+", "1x", "--1", "nans", "1 ", "infinite"];
    for (let i = 0; i < bad.length; i++) {
      expect(isNaN(valueOf(bad[i])) && !numberOk).toBe(true, bad[i]);
    }
    expect(isNaN(valueOf("NaN")) && numberOk).toBe(true);
  });
});
