/** Which body fields name a session: dotted paths, made once from the configuration. */
import { equalsText, Text, text } from "../bytes";

/** Most paths; those beyond are left out. */
export const MAX_BODY_FIELDS: i32 = 32;
const DOT: u8 = 0x2e;

const CONVERSATION = text("conversation");
const CONVERSATION_ID = text("conversation.id");
const USER_ID = text("metadata.user_id");

/** One key on the way. */
export class FieldNode {
  children: Array<FieldNode> = [];
  /** Place of the path that ends here, −1 for none. */
  rank: i32 = -1;
  /** A bit for each path that passes or ends here. */
  ranks: u32 = 0;
  /** Only the session inside this value counts. */
  isUserId: bool = false;

  constructor(
    private owner: Text,
    private ptr: usize,
    private len: i32,
  ) {}

  /** The node for a key in the object that this one names. */
  child(ptr: usize, len: i32): FieldNode | null {
    const children = this.children;
    for (let i = 0, n = children.length; i < n; i++) {
      const node = unchecked(children[i]);
      if (node.len == len && sameBytes(node.ptr, ptr, len)) return node;
    }
    return null;
  }
}

function sameBytes(a: usize, b: usize, len: i32): bool {
  for (let i = 0; i < len; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

/** The paths as a tree. An earlier path outranks a later one. */
export class BodyFields {
  readonly root: FieldNode;

  constructor(paths: Array<Text>) {
    const root = new FieldNode(CONVERSATION, 0, 0);
    this.root = root;
    const count = min(paths.length, MAX_BODY_FIELDS);
    for (let rank = 0; rank < count; rank++) {
      const path = paths[rank];
      add(root, path, rank);
      // A conversation is named by a string or by an object with an id.
      if (equalsText(path.ptr, path.len, CONVERSATION)) add(root, CONVERSATION_ID, rank);
    }
  }
}

function add(root: FieldNode, path: Text, rank: i32): void {
  let node = root;
  const end = path.ptr + path.len;
  for (let from = path.ptr; from <= end; ) {
    let to = from;
    while (to < end && load<u8>(to) != DOT) to++;
    const len = <i32>(to - from);
    let next = node.child(from, len);
    if (!next) {
      next = new FieldNode(path, from, len);
      node.children.push(next);
    }
    next.ranks |= (<u32>1) << rank;
    node = next;
    from = to + 1;
  }
  if (node.rank < 0) node.rank = rank;
  if (equalsText(path.ptr, path.len, USER_ID)) node.isUserId = true;
}
