import { Text, equalsOneOf } from "../bytes";
import { JsonTree, NodeKind, NONE } from "../json/tree";
import { parseNumber } from "../number";
import { Address, parseAddress } from "./address";
import { MetricNames } from "./config";
import { describe, isKey, isText, keyOf, numberText, pathOf } from "./describe";
import { Field, Kind, maxEntryBytes } from "./fields";
import { Shape, hasShape, shapeText } from "./shapes";
import { SIGNALS, signalName } from "./signals";
import { nearest, unknownField } from "./suggest";

/** Longest spelling of a number that is sure not to have been cut. */
const MAX_NUMBER_BYTES: i32 = 63;

/** Reads the values of fields; keeps the first error. */
export class Reader {
  /** `path: expected …, got …`; empty while all is well. */
  error: string = "";
  private readonly address: Address = new Address();

  constructor(private readonly tree: JsonTree) {}

  /** Stores a field's value in the object at `base`; on error nothing is stored. */
  read(field: Field, base: usize, node: i32): void {
    const at = base + field.offset;
    switch (field.kind) {
      case Kind.Flag:
        return this.readFlag(at, node);
      case Kind.Word:
        return this.readWord(field, at, node);
      case Kind.Text:
        return this.readText(field, base, node);
      case Kind.List:
        return this.readListField(field, base, node);
      case Kind.Names:
        return this.readNames(field, load<usize>(at), node);
      default:
        return this.readNumber(field, at, node);
    }
  }

  /** Keeps an error about a node unless there is one. */
  expected(node: i32, what: string): void {
    this.fail(pathOf(this.tree, node), "expected " + what + ", got " + describe(this.tree, node));
  }

  /** Keeps an error unless there is one. */
  fail(path: string, what: string): void {
    if (this.error.length == 0) this.error = path + ": " + what;
  }

  private readFlag(at: usize, node: i32): void {
    const kind = this.tree.kind(node);
    if (kind == NodeKind.True || kind == NodeKind.False) store<bool>(at, kind == NodeKind.True);
    else this.expected(node, "true or false");
  }

  private readWord(field: Field, at: usize, node: i32): void {
    const tree = this.tree;
    const words = field.words;
    let all = "";
    for (let i = 0; i < words.length; i++) {
      if (tree.kind(node) == NodeKind.String && isText(tree, node, words[i])) {
        store<i32>(at, i);
        return;
      }
      all += (i == 0 ? '"' : i == words.length - 1 ? ' or "' : ', "') + words[i] + '"';
    }
    this.expected(node, all);
  }

  private readNumber(field: Field, at: usize, node: i32): void {
    const tree = this.tree;
    const kind = field.kind;
    const orNull = kind == Kind.Learned ? " or null" : "";
    const range = numberText(field.min) + ".." + numberText(field.max) + orNull;
    if (kind == Kind.Learned && tree.kind(node) == NodeKind.Null) {
      store<i32>(at, 0);
      return;
    }
    let value = NaN;
    if (tree.kind(node) == NodeKind.Number && tree.textLen(node) <= MAX_NUMBER_BYTES) {
      value = parseNumber(tree.textPtr(node), tree.textLen(node));
    }
    if (kind != Kind.Number && value != Math.trunc(value)) {
      return this.expected(node, "an integer " + range);
    }
    if (tree.kind(node) != NodeKind.Number) return this.expected(node, "a number " + range);
    // A NaN fails both comparisons, so the casts below can't trap.
    if (!(value >= field.min && value <= field.max)) return this.expected(node, range);
    if (kind == Kind.Number) store<f64>(at, value);
    else if (kind == Kind.Size) store<i64>(at, <i64>value);
    else store<i32>(at, <i32>value);
  }

  private readText(field: Field, base: usize, node: i32): void {
    const text = this.textOf(node, field.shape, <i32>field.min, <i32>field.max);
    if (text) link(base, field.offset, changetype<usize>(text));
  }

  private readListField(field: Field, base: usize, node: i32): void {
    const list = this.listOf(field, node);
    if (list) link(base, field.offset, changetype<usize>(list));
  }

  private readNames(field: Field, base: usize, node: i32): void {
    const tree = this.tree;
    if (tree.kind(node) != NodeKind.Object) return this.expected(node, "an object");
    const names = changetype<MetricNames>(base);
    for (let child = tree.first(node); child != NONE; child = tree.next(child)) {
      let signal = 0;
      while (signal < SIGNALS && !isKey(tree, child, signalName(signal))) signal++;
      if (signal == SIGNALS) {
        const all = new Array<string>();
        for (let i = 0; i < SIGNALS; i++) all.push(signalName(i));
        return this.fail(pathOf(tree, child), unknownField(all, nearest(keyOf(tree, child), all)));
      }
      const list = this.listOf(field, child);
      if (!list) return;
      names.bySignal[signal] = list;
    }
  }

  /** A list of texts, each once; null after an error. */
  private listOf(field: Field, node: i32): Array<Text> | null {
    const tree = this.tree;
    if (tree.kind(node) != NodeKind.Array) {
      this.expected(node, "a list");
      return null;
    }
    const most = <i32>field.max;
    if (tree.size(node) > most) {
      const got = tree.size(node).toString();
      this.fail(pathOf(tree, node), "expected at most " + most.toString() + " entries, got " + got);
      return null;
    }
    const list = new Array<Text>();
    for (let child = tree.first(node); child != NONE; child = tree.next(child)) {
      const text = this.textOf(child, field.shape, 1, maxEntryBytes(field.shape));
      if (!text) return null;
      if (equalsOneOf(text.ptr, text.len, list)) {
        this.expected(child, "each entry once");
        return null;
      }
      list.push(text);
    }
    return list;
  }

  /** A string of a shape, copied to the pool in its normal form; null after an error. */
  private textOf(node: i32, shape: Shape, minBytes: i32, maxBytes: i32): Text | null {
    const tree = this.tree;
    const what = minBytes == 0 ? shapeText(shape) + ' or ""' : shapeText(shape);
    if (tree.kind(node) == NodeKind.String) {
      const ptr = tree.textPtr(node);
      const len = tree.textLen(node);
      if (len == 0 && minBytes == 0) return copyOf(ptr, 0);
      if (shape == Shape.Address) {
        const address = this.address;
        if (parseAddress(ptr, len, address)) return copyOf(address.ptr, address.len);
      } else if (len > maxBytes) {
        const got = len.toString() + " bytes";
        const most = maxBytes.toString() + " bytes";
        this.fail(pathOf(tree, node), "expected at most " + most + ", got " + got);
        return null;
      } else if (len > 0 && hasShape(shape, ptr, len)) {
        const text = copyOf(ptr, len);
        // Envoy's header names are lower-case.
        if (shape == Shape.Header || shape == Shape.SessionHeader) lower(text);
        return text;
      } else if (shape == Shape.Secret) {
        this.fail(pathOf(tree, node), "expected " + what + ", got " + len.toString() + " bytes");
        return null;
      }
    }
    this.expected(node, what);
    return null;
  }
}

/** A text of its own from bytes. */
function copyOf(ptr: usize, len: i32): Text {
  const bytes = new ArrayBuffer(len);
  memory.copy(changetype<usize>(bytes), ptr, len);
  return new Text(bytes);
}

function lower(text: Text): void {
  for (let i = 0; i < text.len; i++) {
    const byte = load<u8>(text.ptr + i);
    if (byte >= 0x41 && byte <= 0x5a) store<u8>(text.ptr + i, byte | 0x20);
  }
}

/** Stores a reference in an object's field, as an assignment would. */
function link(object: usize, offset: usize, value: usize): void {
  store<usize>(object + offset, value);
  __link(object, value, false);
}
