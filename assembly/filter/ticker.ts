import { setTickPeriodMs } from "../host/stream";

/** Tick while nobody wants another. */
export const TICK_MS: u32 = 50;

/** Who may want ticks to come sooner. */
export const enum Wish {
  Admission,
  Exchange,
  Proposals,
  /** Whoever holds requests heard something: once. */
  News,
}
const WISHES: i32 = 4;
const NEWS_MS: u32 = 1;

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

  /** Another gateway's message came: the next tick is a millisecond away. Not at once: that is another root's callback. */
  wake(): void {
    this.want(Wish.News, NEWS_MS);
  }

  /** It ticks: woken for once. */
  ticked(): void {
    if (unchecked(this.wishes[Wish.News]) != TICK_MS) this.want(Wish.News, TICK_MS);
  }

  private set(): void {
    let periodMs = TICK_MS;
    for (let i = 0; i < WISHES; i++) periodMs = min(periodMs, unchecked(this.wishes[i]));
    if (periodMs == this.periodMs) return;
    this.periodMs = periodMs;
    setTickPeriodMs(periodMs);
  }
}
