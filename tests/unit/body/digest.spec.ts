import { text } from "../../../assembly/bytes";
import { read } from "./reading";

function tools(json: string): u64 {
  return read('{"prompt":"x","tools":' + json + "}").facts.toolsHash;
}

function size(json: string): u32 {
  return read('{"prompt":"x","tools":' + json + "}").facts.toolsBytes;
}

describe("ValueDigest", () => {
  it("doesn't see key order, white space or escapes", () => {
    const one = '[{"name":"tide","parameters":{"type":"object","required":["day","port"]}}]';
    const other =
      '[ { "parameters":{"required":["d\\u0061y", "port"],\n"type":"object"}, "n\\u0061me":"tide" } ]';
    expect(tools(one)).toBe(tools(other));
    expect(size(one)).toBe(<u32>text(one).len);
    expect(size(other)).toBe(<u32>text(one).len);
  });

  it("sees everything else", () => {
    const values: string[] = [
      "[1]",
      "[2]",
      "[1,2]",
      "[2,1]",
      "[[1]]",
      "[[1],2]",
      "[[1,2]]",
      '["1"]',
      "[true]",
      "[false]",
      "[null]",
      "[{}]",
      "[[]]",
      '[{"a":1}]',
      '[{"b":1}]',
      '[{"a":1,"b":2}]',
      '[{"a":2,"b":1}]',
      '[{"a":{"b":1}}]',
      '[""]',
    ];
    const seen = new Set<u64>();
    for (let i = 0; i < values.length; i++) seen.add(tools(values[i]));
    expect(seen.size).toBe(values.length);
  });

  it("measures the compact form", () => {
    const values: string[] = [
      "[1,2,3]",
      '[{"a":1,"b":[],"c":{}}]',
      '["é東","\\"\\\\\\n\\u0007"]',
      "[[[[1,2],3],4],-1.5e3]",
    ];
    for (let i = 0; i < values.length; i++)
      expect(size(values[i])).toBe(<u32>text(values[i]).len, values[i]);
  });

  it("takes an empty list as none", () => {
    expect(tools("[]")).toBe(0);
    expect(tools('{"a":1}')).toBe(0);
    expect(size("[]")).toBe(0);
  });

  it("survives any depth", () => {
    const deep = "[".repeat(3000) + "1" + "]".repeat(3000);
    expect(size(deep)).toBe(6001);
  });
});
