import { JsonTree, NodeKind, NONE } from "../json/tree";

/** Longest text that a message repeats, in bytes. */
const MAX_SHOWN: i32 = 64;

/** The value of a node as messages show it: scalars in JSON, cut if long; containers by kind. */
export function describe(tree: JsonTree, node: i32): string {
  switch (tree.kind(node)) {
    case NodeKind.Null:
      return "null";
    case NodeKind.False:
      return "false";
    case NodeKind.True:
      return "true";
    case NodeKind.Number:
      return shown(tree.textPtr(node), tree.textLen(node));
    case NodeKind.String:
      return quoted(tree.textPtr(node), tree.textLen(node));
    case NodeKind.Array:
      return "a list";
    default:
      return "an object";
  }
}

/** Where a node is: `metrics.interval_ms`, `hosts[2]`; `configuration` for the root. */
export function pathOf(tree: JsonTree, node: i32): string {
  if (tree.parent(node) == NONE) return "configuration";
  let path = "";
  // Bounded by the tree's depth.
  for (let parent = tree.parent(node); parent != NONE; parent = tree.parent(node)) {
    const inList = tree.kind(parent) == NodeKind.Array;
    const step = inList ? "[" + tree.index(node).toString() + "]" : keyOf(tree, node);
    path = path.length == 0 || path.startsWith("[") ? step + path : step + "." + path;
    node = parent;
  }
  return path;
}

/** The key of a node as messages show it: bare if it is a plain name, else in quotes. */
export function keyOf(tree: JsonTree, node: i32): string {
  const ptr = tree.keyPtr(node);
  const len = tree.keyLength(node);
  for (let i = 0; i < len; i++) {
    const byte = load<u8>(ptr + i);
    const lower = byte | 0x20;
    const plain = (lower >= 0x61 && lower <= 0x7a) || (byte >= 0x30 && byte <= 0x39);
    if (!plain && byte != 0x5f && byte != 0x2d) return quoted(ptr, len);
  }
  return len == 0 ? '""' : shown(ptr, len);
}

/** Text in double quotes, control bytes escaped, cut if long. */
export function quoted(ptr: usize, len: i32): string {
  const plain = shown(ptr, len);
  let out = '"';
  for (let i = 0; i < plain.length; i++) {
    const code = plain.charCodeAt(i);
    if (code < 0x20 || code == 0x7f) {
      const hex = code.toString(16);
      out += code < 16 ? "\\u000" + hex : "\\u00" + hex;
    } else {
      if (code == 0x22 || code == 0x5c) out += "\\";
      out += plain.charAt(i);
    }
  }
  return out + '"';
}

/** A number as messages show it: whole numbers without a decimal point. */
export function numberText(value: f64): string {
  const whole = value == Math.trunc(value) && Math.abs(value) < 9007199254740992.0;
  return whole ? (<i64>value).toString() : value.toString();
}

/** Text cut at a whole character, with `…` for what is left out. */
function shown(ptr: usize, len: i32): string {
  if (len <= MAX_SHOWN) return String.UTF8.decodeUnsafe(ptr, len);
  let cut = MAX_SHOWN;
  while (cut > 0 && (load<u8>(ptr + cut) & 0xc0) == 0x80) cut--;
  return String.UTF8.decodeUnsafe(ptr, cut) + "…";
}

/** Whether a string node is this text (ASCII). */
export function isText(tree: JsonTree, node: i32, text: string): bool {
  return isAscii(tree.textPtr(node), tree.textLen(node), text);
}

/** Whether a node's key is this name (ASCII). */
export function isKey(tree: JsonTree, node: i32, name: string): bool {
  return isAscii(tree.keyPtr(node), tree.keyLength(node), name);
}

function isAscii(ptr: usize, len: i32, text: string): bool {
  if (len != text.length) return false;
  for (let i = 0; i < len; i++) {
    if (<i32>load<u8>(ptr + i) != text.charCodeAt(i)) return false;
  }
  return true;
}
