import { CAS_ATTEMPTS } from "../../state/layout";
import { noteCasGaveUp } from "../../state/record";
import { advance, renew } from "../../state/residency";
import { Fleet } from "../fleet/fleet";
import { View } from "./view";

/** Noted uses that wait to be entered; more are entered at once. */
const WAITING: i32 = 256;

/**
 * Cached prefixes that were used again, until they are entered into the records that all workers share: at ticks, for a cache
 * turns over within minutes, and a request needn't wait for it.
 */
export class Renewals {
  private slots: StaticArray<i32> = new StaticArray<i32>(WAITING);
  private stamps: StaticArray<f64> = new StaticArray<f64>(WAITING);
  private clocks: StaticArray<f64> = new StaticArray<f64>(WAITING);
  private tokens: StaticArray<f64> = new StaticArray<f64>(WAITING);
  private count: i32 = 0;

  constructor(
    private fleet: Fleet,
    private view: View,
  ) {}

  /** A prefix of so many tokens, last used when a host's token clock was at `stamp`, is used again there at `clock`. */
  note(slot: i32, stamp: f64, clock: f64, tokens: f64): void {
    if (this.count == WAITING) this.enter();
    const i = this.count++;
    unchecked((this.slots[i] = slot));
    unchecked((this.stamps[i] = stamp));
    unchecked((this.clocks[i] = clock));
    unchecked((this.tokens[i] = tokens));
  }

  /** Enters what was noted: one write a host. */
  enter(): void {
    for (let i = 0; i < this.count; i++) {
      const slot = unchecked(this.slots[i]);
      if (slot >= 0) this.enterHost(slot, i);
    }
    this.count = 0;
  }

  private enterHost(slot: i32, first: i32): void {
    const fleet = this.fleet;
    const capacity = this.view.caches.capacityTokens(slot);
    let isWritten = false;
    for (let attempt = 0; attempt < CAS_ATTEMPTS && !isWritten; attempt++) {
      const at = fleet.states.open(slot).residency;
      for (let i = first; i < this.count; i++) {
        if (unchecked(this.slots[i]) != slot) continue;
        advance(at, unchecked(this.clocks[i]), capacity);
        renew(at, unchecked(this.stamps[i]), unchecked(this.tokens[i]), capacity);
      }
      advance(at, fleet.inFlight.clockTokens(slot), capacity);
      isWritten = fleet.states.commit(slot);
    }
    if (!isWritten) noteCasGaveUp();
    for (let i = first; i < this.count; i++) {
      if (unchecked(this.slots[i]) == slot) unchecked((this.slots[i] = -1));
    }
  }
}
