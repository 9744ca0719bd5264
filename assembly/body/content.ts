/**
 * What stands in a prompt: messages, system text, strings, token ids, of all APIs. The chain of the
 * prompt's boundaries is built on the way. An event goes to `ContentReader` from the value that
 * holds content to its end, when `isDone` turns true.
 */
import { parseDecimal } from "../bytes";
import { hashBytes } from "../prefix/hash";
import { ItemReader } from "./items";
import { NodeKey } from "./nodekeys";
import { In, Into } from "./nodes";

@final
export class ContentReader extends ItemReader {
  private onlyObjects: bool = false;

  reset(): void {
    this.resetNodes();
    this.chain.reset();
    this.clearMessages();
    this.clearSystem();
    this.isDone = true;
  }

  /** The next value is system text: a string (`isArray` false) or its parts. */
  beginSystem(isArray: bool): void {
    this.clearSystem();
    this.resetNodes();
    this.isSystem = true;
    this.isDone = false;
    this.systemLane.begin(0);
    this.systemLane.watchHead();
    this.lane = this.systemLane;
    const frame = this.frameAt(0);
    frame.begin(this.systemLane, false);
    frame.key = NodeKey.Content;
    if (isArray) this.push(In.Parts);
    else this.into = Into.Lane;
  }

  /** The next value is a prompt: a string (`isArray` false), or an array of messages or prompts. */
  beginMessages(isArray: bool, onlyObjects: bool): void {
    this.clearMessages();
    this.resetNodes();
    this.isSystem = false;
    this.onlyObjects = onlyObjects;
    this.isDone = false;
    if (isArray) this.push(In.Items);
    else this.beginPrompt();
  }

  openObject(): void {
    if (this.skipped > 0) this.skipped++;
    else if (this.isDigesting) this.digest.open(true);
    else if (this.holder == In.Items) {
      this.endTokenIds();
      this.beginItem(true);
      this.push(In.Node);
    } else if (this.holder == In.Ids) this.skipped = 1;
    else this.openNode();
  }

  closeObject(): void {
    if (this.skipped > 0) this.skipped--;
    else if (this.isDigesting) this.closeDigest();
    else if (this.level == 0) {
      this.endItem();
      this.pop();
    } else this.closeNode();
  }

  openArray(): void {
    if (this.skipped > 0) this.skipped++;
    else if (this.isDigesting) this.digest.open(false);
    else if (this.holder == In.Items) {
      if (this.onlyObjects) {
        this.skipped = 1;
        return;
      }
      this.endTokenIds();
      this.beginPrompt();
      this.push(In.Ids);
    } else if (this.holder == In.Ids) this.skipped = 1;
    else this.openParts();
  }

  closeArray(): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    if (this.isDigesting) {
      this.closeDigest();
      return;
    }
    if (this.holder == In.Ids) {
      this.endItem();
      this.pop();
    } else if (this.holder == In.Items) {
      this.endTokenIds();
      this.pop();
      this.isDone = true;
    } else {
      this.closeParts();
      if (this.open == 0) this.endSystem();
    }
  }

  private closeDigest(): void {
    this.digest.close();
    this.settleDigest();
  }

  key(ptr: usize, len: i32, cut: bool, isPlain: bool): void {
    if (this.skipped > 0) return;
    if (this.isDigesting) this.digest.key(ptr, len, isPlain);
    else this.nodeKey(ptr, len, cut);
  }

  /** A string begins inside the content; one that is the content itself has begun already. */
  beginText(): void {
    if (this.skipped > 0) this.into = Into.Nowhere;
    else if (this.isDigesting) {
      this.into = Into.Digest;
      this.digest.beginText();
    } else if (this.holder == In.Items) {
      this.into = this.onlyObjects ? Into.Nowhere : Into.Lane;
      if (this.onlyObjects) return;
      this.endTokenIds();
      this.beginPrompt();
    } else if (this.holder == In.Ids) {
      this.into = Into.Lane;
      this.lane = this.flow;
    } else this.into = this.beginNodeText();
  }

  text(ptr: usize, len: i32, tails: i32, isPlain: bool): void {
    if (this.into == Into.Lane) this.lane.text(ptr, len, tails);
    else if (this.into == Into.Leaf) this.leafText(ptr, len, tails);
    else if (this.into == Into.Digest) this.digest.text(ptr, len, tails, isPlain);
  }

  /** A whole plain ASCII string. */
  wholeText(ptr: usize, len: i32): void {
    this.beginText();
    if (this.into == Into.Leaf) {
      this.into = Into.Nowhere;
      if (len > 0) this.setLeaf(hashBytes(ptr, len), len, len);
      return;
    }
    this.text(ptr, len, 0, true);
    this.endText();
  }

  endText(): void {
    const into = this.into;
    this.into = Into.Nowhere;
    if (into == Into.Digest) {
      this.digest.endText();
      this.settleDigest();
    } else if (into == Into.Leaf) this.endLeaf();
    else if (into == Into.Lane) {
      this.lane.endText();
      if (this.holder == In.Items) this.endItem();
      else if (this.holder == In.Top) {
        if (this.isSystem) this.endSystem();
        else {
          this.endItem();
          this.isDone = true;
        }
      }
    }
  }

  number(ptr: usize, len: i32): void {
    if (this.skipped > 0) return;
    if (this.isDigesting) {
      this.digest.number(ptr, len);
      return;
    }
    const isIds = this.holder == In.Ids;
    if (isIds || (this.holder == In.Items && !this.onlyObjects)) {
      if (!isIds && !this.isItemOpen) this.beginPrompt();
      const id = parseDecimal(ptr, len);
      this.flow.tokenId(id >= 0 ? <u32>id : <u32>hashBytes(ptr, len));
    } else if (this.beginScalar()) {
      this.digest.number(ptr, len);
      this.settleDigest();
    }
  }

  bool(value: bool): void {
    if (this.skipped > 0) return;
    if (this.isDigesting) this.digest.bool(value);
    else if (this.beginScalar()) {
      this.digest.bool(value);
      this.settleDigest();
    }
  }

  nil(): void {
    if (this.skipped > 0) return;
    if (this.isDigesting) this.digest.nil();
    else if (this.holder == In.Node) this.beginField();
  }
}
