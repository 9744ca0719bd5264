import { equalsText, Text, text } from "../bytes";

const SLOTS: i32 = 128;

/** Finds which known name a key is, without comparing it with each. At most 64 names. */
@final
export class KeyTable {
  private names: StaticArray<Text | null> = new StaticArray<Text | null>(SLOTS);
  private ids: StaticArray<i32> = new StaticArray<i32>(SLOTS);
  private count: i32 = 0;

  /** Adds a name of 1 byte or more; `id` is what `find` gives. */
  add(name: string, id: i32): void {
    const t = text(name);
    if (t.len == 0 || this.count >= SLOTS / 2) return;
    let slot = slotOf(t.ptr, t.len);
    while (this.names[slot] != null) slot = (slot + 1) & (SLOTS - 1);
    this.names[slot] = t;
    this.ids[slot] = id;
    this.count++;
  }

  /** The id of a key, or 0 where it isn't known. */
  find(ptr: usize, len: i32): i32 {
    if (len == 0) return 0;
    let slot = slotOf(ptr, len);
    for (let i = 0; i < SLOTS; i++) {
      const name = unchecked(this.names[slot]);
      if (!name) return 0;
      if (equalsText(ptr, len, name)) return unchecked(this.ids[slot]);
      slot = (slot + 1) & (SLOTS - 1);
    }
    return 0;
  }
}

function slotOf(ptr: usize, len: i32): i32 {
  const first = <u32>load<u8>(ptr);
  const middle = <u32>load<u8>(ptr + (len >> 1));
  const last = <u32>load<u8>(ptr + len - 1);
  const x = (first * 0x9e3779b1) ^ (middle * 0x85ebca6b) ^ (last * 0xc2b2ae35) ^ (len * 0x27d4eb2f);
  return <i32>((x ^ (x >> 15)) >> 3) & (SLOTS - 1);
}
