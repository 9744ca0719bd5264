import { Candidates } from "../../policy/candidates";

/**
 * While a better host can be used, spare ones stand at the end of the list: for a further try, for nothing else.
 * @param isSpare by slot: 1 for a host that Envoy uses for want of better ones only
 */
export function keepSpares(c: Candidates, isSpare: StaticArray<u8>): void {
  let others = 0;
  for (let slot = 0; slot < c.count; slot++) {
    if (unchecked(c.usable[slot]) && !unchecked(isSpare[slot])) others++;
  }
  if (others == 0) return;
  for (let slot = 0; slot < c.count; slot++) {
    if (unchecked(c.usable[slot]) && unchecked(isSpare[slot])) c.putLast(slot);
  }
}
