import { parsePriority } from "../../../assembly/admission/priority";
import { text } from "../../../assembly/bytes";

function priority(value: string): i32 {
  const bytes = text(value);
  return parsePriority(bytes.ptr, bytes.len);
}

describe("parsePriority", () => {
  it("reads integers and words", () => {
    const values = ["0", "1", "-1", "+7", "100", "-100", "007", "high", "normal", "low"];
    const expected: i32[] = [0, 1, -1, 7, 100, -100, 7, 10, 0, -10];
    for (let i = 0; i < values.length; i++) {
      expect(priority(values[i])).toBe(expected[i], values[i]);
    }
  });

  it("takes anything else for normal", () => {
    const values = [
      "",
      "-",
      "+",
      "101",
      "-101",
      "1.5",
      "1e2",
      " 5",
      "HIGH",
      "--5",
      "99999999999",
      "\xff",
    ];
    for (let i = 0; i < values.length; i++) expect(priority(values[i])).toBe(0, values[i]);
  });
});
