/** Which requests a fault meets. */
export type FaultScope = "inference" | "other" | "metrics" | "health";

/** What goes wrong with a request. */
export type FaultAction =
  | { kind: "status"; status: number; body?: string; headers?: Record<string, string> }
  /** Answers as usual, this much later. */
  | { kind: "delay"; delayMs: number }
  /** Never answers. */
  | { kind: "hang" }
  /** Closes the connection before any answer. */
  | { kind: "reset" }
  | { kind: "reset_after_headers" }
  /** Closes the connection after so many tokens. */
  | { kind: "reset_mid_stream"; afterTokens: number }
  /** 200 with something that is no metrics text. */
  | { kind: "garbage" }
  | { kind: "html" };

/** A fault and how long it lasts: for so many requests, so many milliseconds, or until cleared. */
export type Fault = FaultAction & { scope?: FaultScope; times?: number; forMs?: number };

/** The faults of one server that are in force. */
export class Faults {
  private list: { fault: Fault; left: number; untilMs: number }[] = [];

  /** Times are wall-clock milliseconds. */
  add(fault: Fault, nowMs: number): void {
    this.list.push({
      fault,
      left: fault.times ?? Number.POSITIVE_INFINITY,
      untilMs: nowMs + (fault.forMs ?? Number.POSITIVE_INFINITY),
    });
  }

  clear(): void {
    this.list = [];
  }

  /** The fault that meets a request now, used up once. */
  take(scope: FaultScope, nowMs: number): Fault | undefined {
    this.list = this.list.filter((entry) => entry.left > 0 && entry.untilMs > nowMs);
    const entry = this.list.find(({ fault }) => (fault.scope ?? "inference") === scope);
    if (entry === undefined) return undefined;
    entry.left -= 1;
    return entry.fault;
  }
}
