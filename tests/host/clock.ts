/** What the host asks for the time. */
export interface Clock {
  /** Nanoseconds since 1970. */
  now(): bigint;
}

const NS_PER_MS = 1e6;

/** A clock that stands until it is moved. */
export class ManualClock implements Clock {
  private ns: bigint;

  /** @param startMs milliseconds since 1970 */
  constructor(startMs = 1_700_000_000_000) {
    this.ns = msToNs(startMs);
  }

  now(): bigint {
    return this.ns;
  }

  /** Milliseconds since 1970, with fractions. */
  get ms(): number {
    return nsToMs(this.ns);
  }

  /** Moves on; never back. */
  advance(ms: number): void {
    if (ms > 0) this.ns += msToNs(ms);
  }

  /** Moves to a time, if it is later. */
  moveTo(ns: bigint): void {
    if (ns > this.ns) this.ns = ns;
  }
}

export function nsToMs(ns: bigint): number {
  return Number(ns) / NS_PER_MS;
}

/** The whole milliseconds don't lose digits: their nanoseconds exceed what a double holds. */
export function msToNs(ms: number): bigint {
  const whole = Math.floor(ms);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * NS_PER_MS));
}
