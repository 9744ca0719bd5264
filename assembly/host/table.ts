/**
 * Objects by context id (never 0). Open addressing with linear probing; a deletion shifts what
 * follows back, so no marks pile up and nothing is ever rebuilt in steady state. At most half of
 * the slots are taken; then it doubles, up to a bound.
 */
export class ContextTable<T> {
  count: i32 = 0;

  private ids: StaticArray<u32>;
  private items: StaticArray<T | null>;
  private mask: i32;
  private shift: i32;

  /** @param slots at first, @param maxSlots in the end; powers of two ≥ 2 */
  constructor(
    slots: i32,
    private maxSlots: i32,
  ) {
    this.ids = new StaticArray<u32>(slots);
    this.items = new StaticArray<T | null>(slots);
    this.mask = slots - 1;
    this.shift = clz(slots) + 1;
  }

  /** Multiplicative hashing: ids are given in sequence, this spreads them. */
  // @ts-ignore: decorator
  @inline
  private home(id: u32): i32 {
    return <i32>((id * 0x9e37_79b1) >>> this.shift);
  }

  /** Slot of an id, or the free slot where it would be. */
  private find(id: u32): i32 {
    let slot = this.home(id);
    while (true) {
      let there = unchecked(this.ids[slot]);
      if (there == id || there == 0) return slot;
      slot = (slot + 1) & this.mask;
    }
  }

  get(id: u32): T | null {
    return unchecked(this.items[this.find(id)]);
  }

  /** Enters an object, in place of one with the same id. False: full, or no id. */
  set(id: u32, item: T): bool {
    if (id == 0) return false;
    let slot = this.find(id);
    if (unchecked(this.ids[slot]) != id) {
      if (this.count << 1 > this.mask) {
        if (this.mask + 1 >= this.maxSlots) return false;
        this.grow();
        slot = this.find(id);
      }
      unchecked((this.ids[slot] = id));
      this.count++;
    }
    unchecked((this.items[slot] = item));
    return true;
  }

  /** Removes an id; one that isn't there is no error. */
  remove(id: u32): void {
    let hole = this.find(id);
    if (id == 0 || unchecked(this.ids[hole]) != id) return;
    let mask = this.mask;
    let slot = hole;
    while (true) {
      slot = (slot + 1) & mask;
      let there = unchecked(this.ids[slot]);
      if (there == 0) break;
      // It may fill the hole unless its home lies behind the hole: between hole and slot.
      if (((slot - this.home(there)) & mask) < ((slot - hole) & mask)) continue;
      unchecked((this.ids[hole] = there));
      unchecked((this.items[hole] = this.items[slot]));
      hole = slot;
    }
    unchecked((this.ids[hole] = 0));
    unchecked((this.items[hole] = null));
    this.count--;
  }

  private grow(): void {
    let ids = this.ids;
    let items = this.items;
    let slots = ids.length << 1;
    this.ids = new StaticArray<u32>(slots);
    this.items = new StaticArray<T | null>(slots);
    this.mask = slots - 1;
    this.shift--;
    for (let i = 0; i < ids.length; i++) {
      let id = unchecked(ids[i]);
      if (id == 0) continue;
      let slot = this.find(id);
      unchecked((this.ids[slot] = id));
      unchecked((this.items[slot] = items[i]));
    }
  }
}
