/**
 * The boundaries of one prompt, each with an id that stands for everything before it: tools, then
 * system, then messages. A request that starts with the same content has the same ids up to where it
 * differs, so the ids tell how much of it a server has seen.
 *
 *     seed ─ tools ─ system positions … system end ─ [positions … end] per message
 *
 * At most MAX_ENTRIES. Positions grow (positions.ts), and of many messages' ends only some stay: all
 * of the first 64, then 16 in each doubling, and always the last 64. Which of the early ones stay
 * depends on their number alone, and a conversation that grew by fewer than 64 messages still has
 * the end of its last request among the last 64, so the next turn finds it exactly.
 */
import { Entries } from "./entries";
import { mix } from "./hash";

/** Most boundaries of one prompt. */
export const MAX_ENTRIES: i32 = 512;
/** Message ends that stay at the end of the chain. */
const RECENT: i32 = 64;
const SYSTEM_ENTRIES: i32 = 128;
const KEPT_ENTRIES: i32 = MAX_ENTRIES - 1 - SYSTEM_ENTRIES - RECENT;

const TOOLS_SALT: u64 = 0x7001_5000_0000_0001;
const SYSTEM_SALT: u64 = 0x5757_e000_0000_0002;

@final
export class Chain {
  /** Boundaries after `seal`. */
  length: i32 = 0;
  readonly ids: StaticArray<u64> = new StaticArray<u64>(MAX_ENTRIES);
  /** Prompt bytes up to each, tool schemas included. */
  readonly bytes: StaticArray<u32> = new StaticArray<u32>(MAX_ENTRIES);
  /** Tokens up to each that aren't text: token ids, and images at their constant. */
  readonly fixedTokens: StaticArray<u32> = new StaticArray<u32>(MAX_ENTRIES);

  /** Positions inside the system text. */
  readonly system: Entries = new Entries(SYSTEM_ENTRIES);
  /** Positions inside messages, and those message ends that always stay. */
  readonly kept: Entries = new Entries(KEPT_ENTRIES);
  private recent: Entries = new Entries(RECENT);
  /** Number of the next message, and of the next boundary. */
  private messages: u32 = 0;
  private order: u32 = 0;
  /** Hash of the messages so far, one after the other. */
  private rolling: u64 = 0;

  /** Forgets everything. */
  reset(): void {
    this.length = 0;
    this.system.count = 0;
    this.resetMessages();
  }

  /** Forgets the messages. */
  resetMessages(): void {
    this.kept.count = 0;
    this.messages = 0;
    this.order = 0;
    this.rolling = 0;
  }

  /** Messages so far. */
  get messageCount(): u32 {
    return this.messages;
  }

  /** Hash of all messages so far; 0 before the first. */
  get messagesHash(): u64 {
    return this.rolling;
  }

  /** How many of the boundaries, after `seal`, lie within the first `bytes` of the prompt. */
  within(bytes: u32): i32 {
    let from = 0;
    let to = this.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (unchecked(this.bytes[middle]) <= bytes) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /**
   * Turns the positions noted in `kept` since `first` into boundaries of the message that is now
   * known: `head` is the hash of what stands before its text; `bytes`, `tokens` and `media` are what
   * stands before it.
   */
  placePositions(first: i32, head: u64, bytes: u32, tokens: u32, media: u32): void {
    const kept = this.kept;
    const base = mix(this.rolling, head);
    for (let i = first; i < kept.count; i++) {
      kept.set(
        i,
        mix(base, unchecked(kept.hashes[i])),
        bytes + unchecked(kept.bytes[i]),
        tokens + unchecked(kept.tokens[i]),
        media + unchecked(kept.media[i]),
        this.order++,
      );
    }
  }

  /** Ends a message: hash of its head, of its text, of the rest; totals up to here. */
  endMessage(head: u64, text: u64, tail: u64, bytes: u32, tokens: u32, media: u32): void {
    const hash = mix(mix(mix(this.rolling, head), text), tail);
    this.rolling = hash;
    const number = this.messages++;
    const order = this.order++;
    if (staysFor(number)) this.kept.push(hash, bytes, tokens, media, order);
    this.recent.set(<i32>(number & (RECENT - 1)), hash, bytes, tokens, media, order);
  }

  /**
   * Gives the ids under `seed`. Behind tools or system text that were cut off nothing is sure, so the
   * chain ends there.
   * @param mediaTokens tokens that an image or a sound counts
   */
  seal(seed: u64, mediaTokens: u32, opening: Opening): void {
    this.length = 0;
    if (opening.isToolsCut) return;
    const toolsBytes = opening.toolsBytes;
    let base = seed;
    if (opening.tools != 0) {
      base = mix(mix(base, TOOLS_SALT), opening.tools);
      this.emit(base, toolsBytes, 0);
    }
    const positions = this.system;
    const systemBase = mix(base, SYSTEM_SALT);
    for (let i = 0; i < positions.count; i++) {
      this.emit(
        mix(systemBase, unchecked(positions.hashes[i])),
        toolsBytes + unchecked(positions.bytes[i]),
        unchecked(positions.media[i]) * mediaTokens,
      );
    }
    if (opening.isSystemCut) return;
    const fixedBefore = opening.systemMedia * mediaTokens;
    const bytesBefore = toolsBytes + opening.systemBytes;
    if (opening.system != 0) {
      base = mix(mix(systemBase, opening.system), SYSTEM_SALT);
      this.emit(base, bytesBefore, fixedBefore);
    }
    this.emitMessages(base, bytesBefore, fixedBefore, mediaTokens);
  }

  /** Merges what always stays with the last ends, in the order of the prompt. */
  private emitMessages(base: u64, bytesBefore: u32, fixedBefore: u32, mediaTokens: u32): void {
    const kept = this.kept;
    const recent = this.recent;
    let number: u32 = this.messages > <u32>RECENT ? this.messages - RECENT : 0;
    let i = 0;
    while (i < kept.count || number < this.messages) {
      let list = kept;
      let at = i;
      if (number < this.messages) {
        const slot = <i32>(number & (RECENT - 1));
        const order = unchecked(recent.order[slot]);
        const keptOrder = i < kept.count ? unchecked(kept.order[i]) : u32.MAX_VALUE;
        if (order <= keptOrder) {
          list = recent;
          at = slot;
          number++;
          if (order == keptOrder) i++;
        } else i++;
      } else i++;
      this.emit(
        mix(base, unchecked(list.hashes[at])),
        bytesBefore + unchecked(list.bytes[at]),
        fixedBefore + unchecked(list.tokens[at]) + unchecked(list.media[at]) * mediaTokens,
      );
    }
  }

  /** Adds a boundary, unless nothing of the prompt lies before it. */
  private emit(id: u64, bytes: u32, fixed: u32): void {
    if (bytes == 0 && fixed == 0) return;
    const i = this.length;
    if (i >= MAX_ENTRIES) return;
    unchecked((this.ids[i] = id));
    unchecked((this.bytes[i] = bytes));
    unchecked((this.fixedTokens[i] = fixed));
    this.length = i + 1;
  }
}

/** What lies before the messages. Hashes are 0 for absent. */
@final
export class Opening {
  tools: u64 = 0;
  /** Bytes of the tools' schemas. */
  toolsBytes: u32 = 0;
  /** Whether the body ended inside them. */
  isToolsCut: bool = false;
  system: u64 = 0;
  /** Bytes of the system text, and images and sounds in it. */
  systemBytes: u32 = 0;
  systemMedia: u32 = 0;
  /** Whether the body ended inside it. */
  isSystemCut: bool = false;
}

/** Whether the end of the message with this number always stays. */
export function staysFor(number: u32): bool {
  if (number < 64) return true;
  const stride: u32 = 1 << (27 - clz(number));
  return (number & (stride - 1)) == 0;
}
