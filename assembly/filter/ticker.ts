import { setTickPeriodMs } from "../host/stream";

/** Tick while nobody wants another. */
export const TICK_MS: u32 = 50;

/** Who may want ticks to come sooner. */
export const enum Wish {
  Admission,
  Exchange,
}
const WISHES: i32 = 2;

/** The tick of one root: as often as the most impatient wants it. */
export class Ticker {
  private wishes: StaticArray<u32> = new StaticArray<u32>(WISHES);
  private periodMs: u32 = 0;

  constructor() {
    this.wishes.fill(TICK_MS);
  }

  /** Begins to tick. */
  start(): void {
    this.periodMs = 0;
    this.set();
  }

  /** @param periodMs 1..TICK_MS */
  want(who: Wish, periodMs: u32): void {
    unchecked((this.wishes[who] = periodMs));
    this.set();
  }

  private set(): void {
    const periodMs = min(unchecked(this.wishes[0]), unchecked(this.wishes[1]));
    if (periodMs == this.periodMs) return;
    this.periodMs = periodMs;
    setTickPeriodMs(periodMs);
  }
}
