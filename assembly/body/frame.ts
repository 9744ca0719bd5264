/** What is known so far of one object inside a prompt: a message, a part of it, a tool call. */
import { mix } from "../prefix/hash";
import { Lane } from "./lane";
import { NodeKey } from "./nodekeys";
import { Tally } from "./tally";

const SLOTS: i32 = 32;

@final
export class Frame {
  /** The key whose value comes next. */
  key: NodeKey = NodeKey.Unknown;
  /** Where this object's text goes. */
  lane: Lane;
  /** That lane as it was when the object began. */
  readonly saved: Lane = new Lane();
  /** Hashes of `role` and `type`, 0 for none. */
  role: u64 = 0;
  type: u64 = 0;
  /** Whether it is an image, a sound or a file. */
  isMedia: bool = false;
  /** Whether text of this object has gone into the lane. */
  hasFlowed: bool = false;
  /** Bit per slot that holds something. */
  private used: u32 = 0;
  private hashes: StaticArray<u64> = new StaticArray<u64>(SLOTS);
  private codePoints: StaticArray<u32> = new StaticArray<u32>(SLOTS);
  private bytes: StaticArray<u32> = new StaticArray<u32>(SLOTS);
  private images: StaticArray<u16> = new StaticArray<u16>(SLOTS);
  private audios: StaticArray<u16> = new StaticArray<u16>(SLOTS);

  constructor(lane: Lane) {
    this.lane = lane;
  }

  begin(lane: Lane, isMedia: bool): void {
    this.key = NodeKey.Unknown;
    this.lane = lane;
    this.saved.copyFrom(lane);
    this.role = 0;
    this.type = 0;
    this.isMedia = isMedia;
    this.hasFlowed = false;
    this.used = 0;
  }

  /** Forgets what an earlier value under the same key gave. */
  clear(key: NodeKey): void {
    if (key == NodeKey.Role) this.role = 0;
    else if (key == NodeKey.Type) this.type = 0;
    else this.used &= ~((<u32>1) << key);
  }

  has(key: NodeKey): bool {
    return ((this.used >> key) & 1) != 0;
  }

  /** Puts something into a slot; slots count only once something was put there. */
  set(key: NodeKey, hash: u64, codePoints: u32, bytes: u32, images: u32, audios: u32): void {
    this.used |= (<u32>1) << key;
    unchecked((this.hashes[key] = hash));
    unchecked((this.codePoints[key] = codePoints));
    unchecked((this.bytes[key] = bytes));
    unchecked((this.images[key] = <u16>min<u32>(images, 0xffff)));
    unchecked((this.audios[key] = <u16>min<u32>(audios, 0xffff)));
  }

  /** Hash of the slots in `mask`, in their own order whatever the order they came in; 0 for none. */
  hashOf(mask: u32): u64 {
    let hash: u64 = 0;
    for (let left = this.used & mask; left != 0; left &= left - 1) {
      const slot = ctz(left);
      hash = mix(mix(hash, <u64>slot), unchecked(this.hashes[slot]));
    }
    return hash;
  }

  /** Adds what the slots in `mask` count. */
  addTo(tally: Tally, mask: u32): void {
    for (let left = this.used & mask; left != 0; left &= left - 1) {
      const slot = ctz(left);
      tally.codePoints += unchecked(this.codePoints[slot]);
      tally.bytes += unchecked(this.bytes[slot]);
      tally.images += unchecked(this.images[slot]);
      tally.audios += unchecked(this.audios[slot]);
    }
  }
}
