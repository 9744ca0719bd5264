import { text } from "../../../assembly/bytes";
import {
  JsonTree,
  MAX_TREE_BYTES,
  MAX_TREE_DEPTH,
  MAX_TREE_NODES,
  NodeKind,
  NONE,
  TreeState,
} from "../../../assembly/json/tree";

const tree = new JsonTree();

function parse(json: string): TreeState {
  const bytes = text(json);
  return tree.parse(bytes.ptr, bytes.len);
}

/** The tree as JSON-like text: `<key>value` for members, strings in bars. */
function shown(node: i32): string {
  const value = bare(node);
  const parent = tree.parent(node);
  if (parent == NONE || tree.kind(parent) != NodeKind.Object) return value;
  const key = String.UTF8.decodeUnsafe(tree.keyPtr(node), tree.keyLength(node));
  return "<" + key + ">" + value;
}

function bare(node: i32): string {
  const kind = tree.kind(node);
  if (kind == NodeKind.Null) return "null";
  if (kind == NodeKind.True) return "true";
  if (kind == NodeKind.False) return "false";
  if (kind == NodeKind.Array || kind == NodeKind.Object) {
    let out = "";
    for (let child = tree.first(node); child != NONE; child = tree.next(child)) {
      out += (out.length == 0 ? "" : ",") + shown(child);
    }
    return kind == NodeKind.Array ? "[" + out + "]" : "{" + out + "}";
  }
  const value = String.UTF8.decodeUnsafe(tree.textPtr(node), tree.textLen(node));
  return kind == NodeKind.String ? "|" + value + "|" : value;
}

describe("JsonTree", () => {
  it("keeps values, keys and order", () => {
    const cases: string[] = [
      "null",
      "null",
      " true ",
      "true",
      "[]",
      "[]",
      "{}",
      "{}",
      '""',
      "||",
      "-1.50e+2",
      "-1.50e+2",
      "[1,[2,[3]],[],{}]",
      "[1,[2,[3]],[],{}]",
      '{"a":1,"b":{"a":2,"c":[{"a":3},{"a":4}]},"":null}',
      "{<a>1,<b>{<a>2,<c>[{<a>3},{<a>4}]},<>null}",
      '{"\\u0061\\n":"\\ud83d\\ude80 \\ud83d é","b":"a\\\\b"}',
      "{<a\n>|🚀 \ufffd é|,<b>|a\\b|}",
    ];
    for (let i = 0; i < cases.length; i += 2) {
      expect(parse(cases[i])).toBe(TreeState.Ok, cases[i]);
      expect(shown(0)).toBe(cases[i + 1]);
    }
  });

  it("tells positions and sizes", () => {
    parse('{"a":[5,6,7]}');
    const list = tree.first(0);
    expect(tree.size(0)).toBe(1);
    expect(tree.size(list)).toBe(3);
    const last = tree.next(tree.next(tree.first(list)));
    expect(tree.index(last)).toBe(2);
    expect(tree.parent(last)).toBe(list);
    expect(tree.next(last)).toBe(NONE);
    expect(tree.first(last)).toBe(NONE);
    expect(tree.size(last)).toBe(0);
  });

  it("finds keys that come twice, however they are written", () => {
    expect(parse('{"a":1,"b":{"x":[{"k":1,"j":2,"\\u006b":3}]},"a":2}')).toBe(TreeState.Duplicate);
    expect(tree.keyLength(tree.errorNode)).toBe(1);
    expect(tree.index(tree.errorNode)).toBe(2);
    expect(parse('{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}],"":1}')).toBe(TreeState.Ok);
    expect(parse('{"":1,"":1}')).toBe(TreeState.Duplicate);
  });

  it("says where a document stops being JSON", () => {
    const cases: string[] = [
      "",
      "[",
      "[1",
      '{"a"',
      "[1,]",
      "{'a':1}",
      "[] []",
      "nul",
      '["a\n"]',
      "01",
    ];
    const offsets: i32[] = [0, 1, 2, 4, 3, 1, 3, 3, 3, 1];
    for (let i = 0; i < cases.length; i++) {
      expect(parse(cases[i])).toBe(TreeState.Malformed, cases[i]);
      expect(tree.errorOffset).toBe(offsets[i], cases[i]);
    }
  });

  it("is bounded in depth, values and bytes", () => {
    const deepest = "[".repeat(MAX_TREE_DEPTH) + "]".repeat(MAX_TREE_DEPTH);
    expect(parse(deepest)).toBe(TreeState.Ok);
    expect(parse("[" + deepest + "]")).toBe(TreeState.TooDeep);
    const most = "[" + "1,".repeat(MAX_TREE_NODES - 2) + "1]";
    expect(parse(most)).toBe(TreeState.Ok);
    expect(tree.size(0)).toBe(MAX_TREE_NODES - 1);
    expect(parse("[1," + most.substring(1))).toBe(TreeState.TooMany);
    expect(parse("1" + " ".repeat(MAX_TREE_BYTES - 1))).toBe(TreeState.Ok);
    expect(parse("1" + " ".repeat(MAX_TREE_BYTES))).toBe(TreeState.TooLong);
    expect(parse("[".repeat(20000))).toBe(TreeState.TooDeep);
  });

  it("grows for invalid UTF-8, which is longer when decoded", () => {
    const bytes = new Uint8Array(202);
    bytes.fill(0xff);
    bytes[0] = 0x22;
    bytes[201] = 0x22;
    expect(tree.parse(bytes.dataStart, bytes.length)).toBe(TreeState.Ok);
    expect(tree.textLen(0)).toBe(600);
  });

  it("is as new after an error", () => {
    parse('{"a":1,"a":2');
    expect(parse('{"b":[true]}')).toBe(TreeState.Ok);
    expect(shown(0)).toBe("{<b>[true]}");
  });
});
