import { equalBytes } from "../bytes";
import { JsonScanner, ScanState } from "./scanner";
import { JsonSink } from "./sink";

/** Longest document. */
export const MAX_TREE_BYTES: i32 = 262144;
/** Most values in a document, containers counted. */
export const MAX_TREE_NODES: i32 = 8192;
/** Deepest nesting of containers. */
export const MAX_TREE_DEPTH: i32 = 16;

/** How reading a document ended. */
export const enum TreeState {
  Ok,
  /** Over MAX_TREE_BYTES; nothing was read. */
  TooLong,
  /** Not JSON: `errorOffset` says where. */
  Malformed,
  /** Over MAX_TREE_DEPTH. */
  TooDeep,
  /** Over MAX_TREE_NODES. */
  TooMany,
  /** A key came twice in one object: `errorNode` is the second one. */
  Duplicate,
}

export const enum NodeKind {
  Null,
  False,
  True,
  Number,
  String,
  Array,
  Object,
}

/** No node. */
export const NONE: i32 = -1;

/*
 * A node is 32 bytes in `nodes`, a node's number its index there; 0 is the root.
 * +------+--------+------+-------+-------+-------+----------+--------+
 * | kind | parent | next | first | start | size  | keyStart | keyLen |   i32 each
 * +------+--------+------+-------+-------+-------+----------+--------+
 * containers: first = first child, start = last child, size = number of children;
 * numbers and strings: start and size = bytes in `pool`; the key's bytes are there too.
 */
const KIND: i32 = 0;
const PARENT: i32 = 1;
const NEXT: i32 = 2;
const FIRST: i32 = 3;
const START: i32 = 4;
const SIZE: i32 = 5;
const KEY_START: i32 = 6;
const KEY_LEN: i32 = 7;
const WIDTH: i32 = 8;

/** A small JSON document in memory: bounded, numbers as they were spelled, strings decoded. */
export class JsonTree extends JsonSink {
  /** Decoded bytes of all keys, strings and numbers. Replaced, never changed, by the next parse. */
  pool: StaticArray<u8> = new StaticArray<u8>(0);
  state: TreeState = TreeState.Ok;
  /** Of a malformed document: offset of the byte that can't stand there; its length if it ends early. */
  errorOffset: i32 = 0;
  /** Of a duplicate: the later node. */
  errorNode: i32 = NONE;
  private nodes: StaticArray<i32> = new StaticArray<i32>(0);
  private count: i32 = 0;
  private capacity: i32 = 0;
  private used: i32 = 0;
  private container: i32 = NONE;
  private current: i32 = NONE;
  private depth: i32 = 0;
  private keyStart: i32 = NONE;
  private keyLen: i32 = 0;
  private keyCut: bool = false;

  /** Reads a whole document; the nodes are valid if it returns Ok, up to `errorNode` if Duplicate. */
  parse(ptr: usize, len: i32): TreeState {
    this.state = TreeState.Ok;
    this.errorOffset = 0;
    this.errorNode = NONE;
    this.count = 0;
    this.used = 0;
    this.container = NONE;
    this.current = NONE;
    this.depth = 0;
    this.keyStart = NONE;
    if (len > MAX_TREE_BYTES) return (this.state = TreeState.TooLong);
    // Two values have at least one byte between them, so half of the bytes bounds the nodes.
    this.capacity = min(MAX_TREE_NODES, len / 2 + 1);
    this.nodes = new StaticArray<i32>(this.capacity * WIDTH);
    this.pool = new StaticArray<u8>(len + 16);
    const scanner = new JsonScanner(this);
    scanner.feed(ptr, len);
    const end = scanner.finish();
    if (end == ScanState.TooDeep) return (this.state = TreeState.TooDeep);
    if (end != ScanState.Complete) {
      this.errorOffset = malformedAt(ptr, len);
      return (this.state = TreeState.Malformed);
    }
    return this.state;
  }

  kind(node: i32): NodeKind {
    return this.get(node, KIND);
  }

  /** The container that holds a node; NONE for the root. */
  parent(node: i32): i32 {
    return this.get(node, PARENT);
  }

  /** First child of a container; NONE if it has none. */
  first(node: i32): i32 {
    return this.kind(node) >= NodeKind.Array ? this.get(node, FIRST) : NONE;
  }

  /** Next child of the same container, in the document's order; NONE after the last. */
  next(node: i32): i32 {
    return this.get(node, NEXT);
  }

  /** Children of a container. */
  size(node: i32): i32 {
    return this.kind(node) >= NodeKind.Array ? this.get(node, SIZE) : 0;
  }

  /** A string decoded, or a number as spelled (at most 64 bytes of it): `textLen` bytes. */
  textPtr(node: i32): usize {
    return changetype<usize>(this.pool) + this.get(node, START);
  }

  textLen(node: i32): i32 {
    return this.get(node, SIZE);
  }

  /** The key of an object's child, decoded (at most 256 bytes of it): `keyLength` bytes. */
  keyPtr(node: i32): usize {
    return changetype<usize>(this.pool) + max(0, this.get(node, KEY_START));
  }

  keyLength(node: i32): i32 {
    return this.get(node, KEY_LEN);
  }

  /** Position of a list's child, from 0. */
  index(node: i32): i32 {
    let at = 0;
    let other = this.first(this.parent(node));
    while (other != node && other != NONE) {
      other = this.next(other);
      at++;
    }
    return at;
  }

  @inline
  private get(node: i32, column: i32): i32 {
    return unchecked(this.nodes[node * WIDTH + column]);
  }

  @inline
  private set(node: i32, column: i32, value: i32): void {
    unchecked((this.nodes[node * WIDTH + column] = value));
  }

  /** Adds a node below the open container; false once the document was given up. */
  private add(kind: NodeKind): bool {
    if (this.state != TreeState.Ok) return false;
    if (this.count == this.capacity) {
      this.state = TreeState.TooMany;
      return false;
    }
    const node = this.count++;
    const parent = this.container;
    const keyStart = this.keyStart;
    this.set(node, KIND, kind);
    this.set(node, PARENT, parent);
    this.set(node, NEXT, NONE);
    this.set(node, FIRST, NONE);
    this.set(node, START, kind >= NodeKind.Array ? NONE : this.used);
    this.set(node, SIZE, 0);
    this.set(node, KEY_START, keyStart);
    this.set(node, KEY_LEN, keyStart == NONE ? 0 : this.keyLen);
    this.current = node;
    this.keyStart = NONE;
    if (parent == NONE) return true;
    const duplicate = keyStart != NONE && !this.keyCut && this.hasKey(parent, node);
    const last = this.get(parent, START);
    if (last == NONE) this.set(parent, FIRST, node);
    else this.set(last, NEXT, node);
    this.set(parent, START, node);
    this.set(parent, SIZE, this.get(parent, SIZE) + 1);
    if (!duplicate) return true;
    this.state = TreeState.Duplicate;
    this.errorNode = node;
    return false;
  }

  private hasKey(parent: i32, node: i32): bool {
    const ptr = this.keyPtr(node);
    const len = this.keyLength(node);
    for (let other = this.first(parent); other != NONE; other = this.next(other)) {
      if (equalBytes(this.keyPtr(other), this.keyLength(other), ptr, len)) return true;
    }
    return false;
  }

  /** Copies bytes behind those in the pool. Invalid UTF-8 grows threefold when decoded, hence the growth. */
  private append(ptr: usize, len: i32): void {
    const used = this.used;
    if (used + len > this.pool.length) {
      const pool = new StaticArray<u8>(max(2 * this.pool.length, used + len));
      memory.copy(changetype<usize>(pool), changetype<usize>(this.pool), used);
      this.pool = pool;
    }
    memory.copy(changetype<usize>(this.pool) + used, ptr, len);
    this.used = used + len;
  }

  private open(kind: NodeKind): void {
    if (!this.add(kind)) return;
    this.container = this.current;
    if (++this.depth > MAX_TREE_DEPTH) this.state = TreeState.TooDeep;
  }

  private close(): void {
    if (this.state != TreeState.Ok) return;
    this.container = this.get(this.container, PARENT);
    this.depth--;
  }

  onObjectStart(): void {
    this.open(NodeKind.Object);
  }

  onObjectEnd(): void {
    this.close();
  }

  onArrayStart(): void {
    this.open(NodeKind.Array);
  }

  onArrayEnd(): void {
    this.close();
  }

  onKey(ptr: usize, len: i32, cut: bool): void {
    if (this.state != TreeState.Ok) return;
    this.keyStart = this.used;
    this.keyLen = len;
    this.keyCut = cut;
    this.append(ptr, len);
  }

  onStringStart(): void {
    this.add(NodeKind.String);
  }

  onStringBytes(ptr: usize, len: i32): void {
    if (this.state != TreeState.Ok) return;
    this.append(ptr, len);
    this.set(this.current, SIZE, this.get(this.current, SIZE) + len);
  }

  onNumber(ptr: usize, len: i32): void {
    if (!this.add(NodeKind.Number)) return;
    this.append(ptr, len);
    this.set(this.current, SIZE, len);
  }

  onTrue(): void {
    this.add(NodeKind.True);
  }

  onFalse(): void {
    this.add(NodeKind.False);
  }

  onNull(): void {
    this.add(NodeKind.Null);
  }
}

class Ignore extends JsonSink {}

/** Reads byte by byte, as the scanner doesn't tell offsets: the first byte that it refuses. */
function malformedAt(ptr: usize, len: i32): i32 {
  const scanner = new JsonScanner(new Ignore());
  for (let i = 0; i < len; i++) {
    scanner.feed(ptr + i, 1);
    if (scanner.state == ScanState.Malformed) return i;
  }
  return len;
}
