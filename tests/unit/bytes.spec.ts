import {
  equalBytes,
  equalsText,
  lowerEquals,
  parseDecimal,
  text,
  writeF64,
  writeHex16,
  writeI64,
  writeU64,
} from "../../assembly/bytes";

const out = memory.data(64);

function written(len: i32): string {
  return String.UTF8.decodeUnsafe(out, len);
}

function decimalOf(spelled: string): i64 {
  const t = text(spelled);
  return parseDecimal(t.ptr, t.len);
}

describe("comparing", () => {
  it("tells equal from unequal at every length", () => {
    const a = text("abcdefghijklmnopqrstuvwxyz");
    const b = text("abcdefghijklmnopqrstuvwxyZ");
    for (let len = 0; len < 26; len++) expect(equalBytes(a.ptr, len, b.ptr, len)).toBe(true);
    expect(equalBytes(a.ptr, 26, b.ptr, 26)).toBe(false);
    expect(equalBytes(a.ptr, 3, b.ptr, 4)).toBe(false);
    expect(equalsText(a.ptr, 26, a)).toBe(true);
  });

  it("ignores ASCII case only", () => {
    const lower = text("x-session-é");
    const mixed = text("X-Session-é");
    const other = text("X-Session-É");
    expect(lowerEquals(mixed.ptr, mixed.len, lower)).toBe(true);
    expect(lowerEquals(other.ptr, other.len, lower)).toBe(false);
  });
});

describe("parseDecimal", () => {
  it("reads 1 to 18 digits", () => {
    const spelled: string[] = [
      "0",
      "7",
      "42",
      "00012",
      "12345678",
      "123456789",
      "999999999999999999",
    ];
    const values: i64[] = [0, 7, 42, 12, 12345678, 123456789, 999999999999999999];
    for (let i = 0; i < spelled.length; i++)
      expect(decimalOf(spelled[i])).toBe(values[i], spelled[i]);
  });

  it("refuses anything else", () => {
    const bad: string[] = [
      "",
      "-1",
      "1.5",
      " 1",
      "1 ",
      "1e3",
      "12x45678",
      "1234567:",
      "/2345678",
      "1234567890123456789",
    ];
    for (let i = 0; i < bad.length; i++) expect(decimalOf(bad[i])).toBe(-1, bad[i]);
  });
});

describe("writing", () => {
  it("writes whole numbers", () => {
    expect(written(writeU64(out, 0))).toBe("0");
    expect(written(writeU64(out, u64.MAX_VALUE))).toBe("18446744073709551615");
    expect(written(writeI64(out, -1))).toBe("-1");
    expect(written(writeI64(out, i64.MIN_VALUE))).toBe("-9223372036854775808");
  });

  it("writes floats in their shortest form", () => {
    const values: f64[] = [0, 1, -2, 0.5, 1234567.25, 1e21, 1e-7, NaN, Infinity, -Infinity];
    const spelled: string[] = [
      "0",
      "1",
      "-2",
      "0.5",
      "1234567.25",
      "1e+21",
      "1e-7",
      "NaN",
      "Infinity",
      "-Infinity",
    ];
    for (let i = 0; i < values.length; i++)
      expect(written(writeF64(out, values[i]))).toBe(spelled[i]);
  });

  it("writes 16 hexadecimal digits", () => {
    expect(written(writeHex16(out, 0x0123456789abcdef))).toBe("0123456789abcdef");
    expect(written(writeHex16(out, 0))).toBe("0000000000000000");
  });
});
