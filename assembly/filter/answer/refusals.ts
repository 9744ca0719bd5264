import { MAX_HOSTS } from "../../state/layout";
import { pushBack } from "../admission/pushback";
import { Core } from "../core";

/** Refusals in a row from which a host is left alone, though it doesn't ask for that. */
const REFUSALS_MAX: u8 = 5;

/**
 * Hosts that refuse requests for having, or being asked, too much, and don't say for how long. The client of a request may be
 * the one who asked too much; a host that has refused several in a row, and taken none, is left alone for a moment each time.
 */
export class Refusals {
  /** By slot: refusals in a row that this worker saw, up to REFUSALS_MAX. */
  private counts: StaticArray<u8> = new StaticArray<u8>(MAX_HOSTS);

  constructor(private core: Core) {}

  /** A host refused a request. */
  refused(slot: i32, now: f64): void {
    const count = min(unchecked(this.counts[slot]) + 1, REFUSALS_MAX);
    unchecked((this.counts[slot] = <u8>count));
    if (count == REFUSALS_MAX) pushBack(this.core.fleet.states, slot, 0, now);
  }

  /** It took one. */
  taken(slot: i32): void {
    unchecked((this.counts[slot] = 0));
  }
}
