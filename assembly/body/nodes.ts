/**
 * Objects inside a prompt and what they hold. An object is a frame: its text flows into the lane it
 * was given, everything else fills slots. A part's frame, when it ends, marks that lane with the
 * hash of its slots; an array or object under any key but a message's `content` has a lane of its
 * own, whose hash fills the slot. Slots have a fixed order, and a field given twice starts again.
 */
import { Hasher } from "../prefix/hash";
import { ValueDigest } from "./digest";
import { Frame } from "./frame";
import { Lane } from "./lane";
import { holdsNode, holdsParts, holdsText, holdsValue, isAudio, isImage } from "./nodekeys";
import { isMediaField, nodeKey, NodeKey } from "./nodekeys";
import { TYPE_TEXT } from "./roles";

/** Objects within objects that are read; what lies deeper doesn't count. */
const MAX_LEVELS: i32 = 8;
/** Arrays and objects around a value that are told apart: at most two per level, and two more. */
const MAX_OPEN: i32 = 24;
const ALL_SLOTS: u32 = u32.MAX_VALUE;
const MEDIA_TEXT: u32 = (1 << NodeKey.Data) | (1 << NodeKey.Content);

/** What holds the present value. */
export const enum In {
  /** Nothing: the value itself is the content. */
  Top,
  /** An array of messages or prompts. */
  Items,
  /** One prompt given as token ids. */
  Ids,
  /** An array of parts. */
  Parts,
  /** A frame. */
  Node,
}

/** Where the bytes of the present string go. */
export const enum Into {
  Nowhere,
  Lane,
  Leaf,
  Digest,
}

export class NodeReader {
  /** Where the present string goes; `Nowhere` needs no decoding. */
  into: Into = Into.Nowhere;

  protected holder: In = In.Top;
  /** Arrays and objects open that count, and those inside them that don't. */
  protected open: i32 = 0;
  protected skipped: i32 = 0;
  /** Innermost frame. */
  protected level: i32 = 0;
  protected lane: Lane;
  protected digest: ValueDigest = new ValueDigest();
  protected isDigesting: bool = false;
  protected leafCodePoints: u32 = 0;
  protected leafBytes: u32 = 0;
  private leaf: Hasher = new Hasher();
  private holders: StaticArray<u8> = new StaticArray<u8>(MAX_OPEN);
  private lanes: StaticArray<Lane>;
  private frames: StaticArray<Frame>;

  constructor() {
    const lanes = new StaticArray<Lane>(MAX_LEVELS);
    const frames = new StaticArray<Frame>(MAX_LEVELS);
    for (let i = 0; i < MAX_LEVELS; i++) {
      lanes[i] = new Lane();
      frames[i] = new Frame(lanes[i]);
    }
    this.lanes = lanes;
    this.frames = frames;
    this.lane = lanes[0];
  }

  protected resetNodes(): void {
    this.into = Into.Nowhere;
    this.holder = In.Top;
    this.open = 0;
    this.skipped = 0;
    this.level = 0;
    this.isDigesting = false;
  }

  @inline
  protected frameAt(level: i32): Frame {
    return unchecked(this.frames[level]);
  }

  /** The lane of what lies in the present field of the frame at `level`. */
  protected childLane(level: i32): Lane {
    const frame = this.frameAt(level);
    if (level == 0 && frame.key == NodeKey.Content) return frame.lane;
    return unchecked(this.lanes[level + 1]);
  }

  protected push(holder: In): void {
    unchecked((this.holders[this.open++] = <u8>this.holder));
    this.holder = holder;
  }

  protected pop(): void {
    this.holder = <In>unchecked(this.holders[--this.open]);
  }

  protected nodeKey(ptr: usize, len: i32, cut: bool): void {
    const level = this.level;
    this.frameAt(level).key = cut ? NodeKey.Unknown : nodeKey(ptr, len, level > 0);
  }

  /** A value begins in a frame: what an earlier one under the same key gave is gone. */
  protected beginField(): NodeKey {
    const frame = this.frameAt(this.level);
    const key = frame.key;
    if (isFlow(this.level, key)) {
      if (frame.hasFlowed) frame.lane.copyFrom(frame.saved);
      frame.hasFlowed = true;
    } else frame.clear(key);
    if (!frame.isMedia) return key;
    return isMediaField(key) ? key : NodeKey.Unknown;
  }

  /** An object begins, in parts or in a frame. */
  protected openNode(): void {
    const level = this.level;
    if (level + 1 >= MAX_LEVELS) {
      this.skipped = 1;
      return;
    }
    if (this.holder == In.Parts) {
      const lane = this.childLane(level);
      const key = this.frameAt(level).key;
      lane.beginPart();
      this.enter(lane, isImage(key) || isAudio(key));
      return;
    }
    const key = this.beginField();
    if (holdsNode(key)) {
      const lane = this.childLane(level);
      lane.begin(0);
      this.enter(lane, isImage(key) || isAudio(key));
    } else if (holdsValue(key) || (key == NodeKey.Content && level > 0)) {
      this.beginDigest();
      this.digest.open(true);
    } else this.skipped = 1;
  }

  private enter(lane: Lane, isMedia: bool): void {
    this.push(In.Node);
    this.frameAt(++this.level).begin(lane, isMedia);
  }

  /** An object other than a message ends. */
  protected closeNode(): void {
    const frame = this.frameAt(this.level--);
    const outer = this.frameAt(this.level);
    const lane = frame.lane;
    const hash = frame.hashOf(ALL_SLOTS);
    if (hash != 0) {
      lane.mark(hash);
      const isText = frame.type == TYPE_TEXT || frame.has(NodeKey.Content);
      if (!frame.isMedia) frame.addTo(lane.tally, ALL_SLOTS);
      else if (isText) frame.addTo(lane.tally, MEDIA_TEXT);
      else countMedia(lane, outer.key);
    }
    this.pop();
    if (this.holder == In.Node) this.closeField();
  }

  /** An array begins, in parts or in a frame. */
  protected openParts(): void {
    const level = this.level;
    if (this.holder == In.Parts) {
      this.skipped = 1;
      return;
    }
    const key = this.beginField();
    if (holdsParts(key) && level + 1 < MAX_LEVELS) {
      if (!isFlow(level, key)) this.childLane(level).begin(0);
      this.push(In.Parts);
    } else if (holdsValue(key)) {
      this.beginDigest();
      this.digest.open(false);
    } else this.skipped = 1;
  }

  protected closeParts(): void {
    this.pop();
    if (this.holder == In.Node) this.closeField();
  }

  /** What lay in the present field is complete: its lane fills the slot. */
  private closeField(): void {
    const frame = this.frameAt(this.level);
    if (isFlow(this.level, frame.key)) return;
    const lane = this.childLane(this.level);
    if (!lane.isUsed) return;
    const t = lane.tally;
    frame.set(frame.key, lane.hasher.digest(), t.codePoints, t.bytes, t.images, t.audios);
  }

  /** A string begins, in parts or in a frame. */
  protected beginNodeText(): Into {
    if (this.holder == In.Parts) {
      const key = this.frameAt(this.level).key;
      if (isImage(key) || isAudio(key)) return this.beginLeaf();
      if (!holdsText(key)) return Into.Nowhere;
      this.lane = this.childLane(this.level);
      this.lane.beginPart();
      return Into.Lane;
    }
    const key = this.beginField();
    const frame = this.frameAt(this.level);
    if (key == NodeKey.Unknown) return Into.Nowhere;
    if (isFlow(this.level, key)) {
      this.lane = frame.lane;
      return Into.Lane;
    }
    const isKnown =
      frame.isMedia ||
      holdsText(key) ||
      isImage(key) ||
      isAudio(key) ||
      key == NodeKey.Role ||
      key == NodeKey.Type ||
      key == NodeKey.Name;
    return isKnown ? this.beginLeaf() : Into.Nowhere;
  }

  private beginLeaf(): Into {
    this.leaf.reset(0);
    this.leafCodePoints = 0;
    this.leafBytes = 0;
    return Into.Leaf;
  }

  protected leafText(ptr: usize, len: i32, tails: i32): void {
    this.leaf.update(ptr, len);
    this.leafBytes += len;
    this.leafCodePoints += len - tails;
  }

  /** A string outside the lanes ended. An empty one is as good as absent. */
  protected endLeaf(): void {
    if (this.leafBytes != 0) this.setLeaf(this.leaf.digest(), this.leafCodePoints, this.leafBytes);
  }

  protected setLeaf(hash: u64, codePoints: u32, bytes: u32): void {
    const frame = this.frameAt(this.level);
    const key = frame.key;
    if (this.holder == In.Parts) {
      const lane = this.childLane(this.level);
      lane.mark(hash);
      countMedia(lane, key);
    } else if (key == NodeKey.Role) frame.role = hash;
    else if (key == NodeKey.Type) frame.type = hash;
    else if (frame.isMedia || holdsText(key)) {
      frame.set(key, hash, codePoints, bytes, 0, 0);
    } else {
      // As a string, `source` says where a text comes from.
      const isPicture = isImage(key) && key != NodeKey.Source;
      frame.set(key, hash, 0, 0, isPicture ? 1 : 0, isAudio(key) ? 1 : 0);
    }
  }

  /** A number, true or false in a frame: whether it is an argument. */
  protected beginScalar(): bool {
    if (this.holder != In.Node) return false;
    if (!holdsValue(this.beginField())) return false;
    this.beginDigest();
    return true;
  }

  private beginDigest(): void {
    this.isDigesting = true;
    this.digest.reset();
  }

  /** Ends the digest once its value is complete. */
  protected settleDigest(): void {
    const digest = this.digest;
    if (digest.depth > 0) return;
    this.isDigesting = false;
    const frame = this.frameAt(this.level);
    frame.set(frame.key, digest.hash, digest.codePoints, digest.bytes, digest.images, 0);
  }
}

/** Whether the text of this field goes into the frame's lane. */
@inline
function isFlow(level: i32, key: NodeKey): bool {
  return level == 0 ? key == NodeKey.Content : key == NodeKey.Text;
}

function countMedia(lane: Lane, key: NodeKey): void {
  if (isAudio(key)) lane.tally.audios++;
  else lane.tally.images++;
}
