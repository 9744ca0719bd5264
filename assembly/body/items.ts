/**
 * The items of a prompt: messages and prompts, one after the other, and the system text. Each ends
 * as a boundary of the chain.
 */
import { Chain } from "../prefix/chain";
import { mix } from "../prefix/hash";
import { Lane } from "./lane";
import { HEAD_SLOTS, holdsText } from "./nodekeys";
import { In, Into, NodeReader } from "./nodes";
import { isSystemRole, TYPE_MESSAGE, USER } from "./roles";
import { Tally } from "./tally";

const NO_TAIL: u64 = 1;
const TOKEN_ID_BYTES: u32 = 4;

export class ItemReader extends NodeReader {
  /** Boundaries of the messages and of the system text. */
  readonly chain: Chain = new Chain();
  /** What the messages count, and the system text. */
  readonly messages: Tally = new Tally();
  readonly system: Tally = new Tally();
  /** Hash of the system text; 0 for none. */
  systemHash: u64 = 0;
  /** Whether the body ended inside it. */
  isSystemCut: bool = false;
  /** Messages up to the end of the first of the user, or else up to the end of the first: 0 for none. */
  firstUserHash: u64 = 0;
  /** Bytes of the messages before the first of the user. */
  headBytes: u32 = 0;
  /** Prompts given beside each other. */
  prompts: u32 = 0;
  /** Bytes of nonce lines left out. */
  systemNonceBytes: u32 = 0;
  messageNonceBytes: u32 = 0;
  /** Whether the value that holds the content is complete. */
  isDone: bool = true;

  protected flow: Lane = new Lane();
  protected systemLane: Lane = new Lane();
  protected isSystem: bool = false;
  protected isItemOpen: bool = false;
  private isMessage: bool = false;
  private firstPosition: i32 = 0;
  private hasUser: bool = false;
  private headTally: Tally = new Tally();

  constructor() {
    super();
    this.flow.attach(this.chain.kept);
    this.systemLane.attach(this.chain.system);
  }

  clearMessages(): void {
    this.chain.resetMessages();
    this.messages.clear();
    this.firstUserHash = 0;
    this.headBytes = 0;
    this.hasUser = false;
    this.prompts = 0;
    this.messageNonceBytes = 0;
    this.isItemOpen = false;
  }

  clearSystem(): void {
    this.chain.system.count = 0;
    this.system.clear();
    this.systemHash = 0;
    this.isSystemCut = false;
    this.systemNonceBytes = 0;
  }

  protected beginPrompt(): void {
    this.beginItem(false);
    this.prompts++;
    this.lane = this.flow;
    this.into = Into.Lane;
  }

  protected beginItem(isMessage: bool): void {
    const flow = this.flow;
    flow.begin(this.messages.bytes + this.messages.tokenIds * TOKEN_ID_BYTES);
    if (isMessage && this.chain.messageCount == 0) flow.watchHead();
    this.level = 0;
    this.frameAt(0).begin(flow, false);
    this.firstPosition = this.chain.kept.count;
    this.isItemOpen = true;
    this.isMessage = isMessage;
  }

  /** A run of token ids ends where something else begins. */
  protected endTokenIds(): void {
    if (this.isItemOpen) this.endItem();
  }

  protected endItem(): void {
    const frame = this.frameAt(0);
    const flow = this.flow;
    const messages = this.messages;
    const head = this.placePositions();
    const before = messages.bytes;
    this.isItemOpen = false;
    frame.addTo(messages, ~HEAD_SLOTS);
    messages.add(this.headTally);
    messages.add(flow.tally);
    const tail = frame.hashOf(~HEAD_SLOTS);
    this.chain.endMessage(
      head,
      flow.hasher.digest(),
      tail == 0 ? NO_TAIL : tail,
      messages.bytes,
      messages.tokenIds,
      messages.media,
    );
    const isUser = frame.role == USER || !this.isMessage;
    this.noteFirst(isUser, this.chain.messagesHash, before);
  }

  /** The conversation begins with what lies up to the first message of the user. */
  private noteFirst(isUser: bool, hash: u64, before: u32): void {
    if (this.firstUserHash == 0 || (isUser && !this.hasUser)) {
      this.firstUserHash = hash;
      this.headBytes = before;
    }
    if (isUser) this.hasUser = true;
  }

  /** Hash of what stands before the text of the present item, its positions placed behind it. */
  private placePositions(): u64 {
    const frame = this.frameAt(0);
    const flow = this.flow;
    const tally = this.headTally;
    tally.clear();
    frame.addTo(tally, HEAD_SLOTS);
    const type = frame.type == TYPE_MESSAGE ? 0 : frame.type;
    let head = mix(mix(frame.role, type), frame.hashOf(HEAD_SLOTS));
    if (isSystemRole(frame.role)) this.messageNonceBytes += flow.nonceBytes;
    else if (flow.nonceBytes > 0) {
      head = mix(head, flow.nonceHash);
      tally.bytes += flow.nonceBytes;
      tally.codePoints += flow.nonceCodePoints;
    }
    const before = this.messages;
    this.chain.placePositions(
      this.firstPosition,
      head,
      before.bytes + tally.bytes,
      before.tokenIds,
      before.media + tally.media,
    );
    return head;
  }

  protected endSystem(): void {
    const lane = this.systemLane;
    this.system.copyFrom(lane.tally);
    this.systemNonceBytes = lane.nonceBytes;
    this.systemHash = lane.isUsed ? lane.hasher.digest() : 0;
    this.isDone = true;
  }

  /** The body ends inside the content: counts what was read, keeps the positions that are sure. */
  cutOff(): void {
    if (this.isDone) return;
    this.isDone = true;
    if (this.isSystem) {
      this.isSystemCut = true;
      const positions = this.chain.system;
      const count = positions.count;
      this.systemHash = count > 0 ? unchecked(positions.hashes[count - 1]) : 0;
      this.system.copyFrom(this.systemLane.tally);
      this.systemNonceBytes = this.systemLane.nonceBytes;
      this.addOpen(this.system, this.systemLane);
      return;
    }
    if (!this.isItemOpen) return;
    const kept = this.chain.kept;
    const frame = this.frameAt(0);
    // Without its role, a message's boundaries aren't known.
    if (this.isMessage && frame.role == 0) kept.count = this.firstPosition;
    this.placePositions();
    if (kept.count > this.firstPosition) {
      const isUser = frame.role == USER || !this.isMessage;
      this.noteFirst(isUser, unchecked(kept.hashes[kept.count - 1]), this.messages.bytes);
    }
    frame.addTo(this.messages, ~HEAD_SLOTS);
    this.messages.add(this.headTally);
    this.messages.add(this.flow.tally);
    this.addOpen(this.messages, this.flow);
  }

  /** Adds what is in unfinished parts; images count once they are whole. */
  private addOpen(to: Tally, lane: Lane): void {
    for (let i = 0; i < this.level; i++) {
      const inner = this.frameAt(i + 1);
      if (inner.isMedia) return;
      if (inner.lane != lane) to.add(inner.lane.tally);
      inner.addTo(to, u32.MAX_VALUE);
    }
    if (this.holder == In.Parts) {
      const child = this.childLane(this.level);
      if (child != lane) to.add(child.tally);
    }
    if (this.isDigesting) {
      to.codePoints += this.digest.codePoints;
      to.bytes += this.digest.bytes;
    } else if (this.into == Into.Leaf && holdsText(this.frameAt(this.level).key)) {
      to.codePoints += this.leafCodePoints;
      to.bytes += this.leafBytes;
    }
  }
}
