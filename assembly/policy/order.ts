import { Candidates } from "./candidates";
import { MAX_CHOICES } from "./limits";

/** Slots of the chosen hosts, cheapest first. */
export class Choice {
  readonly slots: StaticArray<i32> = new StaticArray<i32>(MAX_CHOICES);
  count: i32 = 0;
}

/**
 * The `most` cheapest usable hosts by `costMs`; hosts with room come before those without.
 *
 * @param most 1..MAX_CHOICES
 */
export function order(c: Candidates, most: i32, into: Choice): void {
  into.count = 0;
  const limit = min(most, MAX_CHOICES);
  for (let slot = 0; slot < c.count; slot++) {
    if (!unchecked(c.usable[slot])) continue;
    let place = into.count;
    while (place > 0 && before(c, slot, unchecked(into.slots[place - 1]))) place--;
    if (place >= limit) continue;
    if (into.count < limit) into.count++;
    for (let i = into.count - 1; i > place; i--) {
      unchecked((into.slots[i] = unchecked(into.slots[i - 1])));
    }
    unchecked((into.slots[place] = slot));
  }
}

@inline
function before(c: Candidates, a: i32, b: i32): bool {
  const roomA = unchecked(c.room[a]);
  const roomB = unchecked(c.room[b]);
  return roomA != roomB ? roomA > roomB : unchecked(c.costMs[a]) < unchecked(c.costMs[b]);
}
