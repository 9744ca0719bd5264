import { Queue, effectivePriority } from "../../admission/queue";
import { Ticket } from "../../admission/ticket";
import { RowView } from "../../state/rowview";
import { Core } from "../core";
import { CURRENT_MS } from "./turn";

/** By this share of the bounds they may be exceeded until another worker has made place: at its next tick. */
const LENT_SHARE: f64 = 1.0 / 8;

/**
 * Places in the queue, which is bounded for all workers together. Each worker publishes the lowest priority that it holds. Where
 * that is lower than anything at the worker to which somebody comes, the newcomer is taken at once, and the worker that holds
 * the lowest finds the queue too long at its next tick and gives somebody up. So the bounds heal whatever two workers did at
 * the same moment.
 */
export class Places {
  constructor(
    private core: Core,
    private queue: Queue,
  ) {}

  /** Notes the lowest priority held here, for the others: to be published with the row. */
  note(nowMs: f64): void {
    const lowest = this.queue.lowest(nowMs);
    if (lowest) this.core.fleet.row.setLowest(effectivePriority(lowest, nowMs));
  }

  /** The same for a request that was just added. */
  added(ticket: Ticket, nowMs: f64): void {
    const row = this.core.fleet.row;
    const its = effectivePriority(ticket, nowMs);
    if (this.queue.length == 1 || its < RowView.lowestPriority(row.bytes)) row.setLowest(its);
  }

  /** Whether so many requests more, and bytes, would be too many. */
  isFull(requests: i32, bytes: f64): bool {
    return this.exceeds(requests, bytes, 1);
  }

  /** Whether bytes enough can be made free for a newcomer here. */
  canFit(newcomer: Ticket, nowMs: f64): bool {
    const admission = this.core.config.admission;
    const bytes = this.core.fleet.inFlight.heldBytes() + newcomer.bytes;
    const excess = bytes - <f64>admission.queueBytes;
    return (
      excess <= 0 ||
      excess <= this.queue.bytesBelow(newcomer, nowMs) ||
      this.isLent(newcomer, nowMs)
    );
  }

  /** Whether another worker is to make place for a newcomer: it holds lower priorities than anybody here. */
  isLent(newcomer: Ticket, nowMs: f64): bool {
    if (this.exceeds(1, newcomer.bytes, 1 + LENT_SHARE)) return false;
    const lowest = this.queue.lowest(nowMs);
    let priority = effectivePriority(newcomer, nowMs);
    if (lowest) priority = min(priority, effectivePriority(lowest, nowMs));
    return this.isLower(priority, nowMs, false);
  }

  /** Who is to leave because the queue is too long: the lowest over all workers, if it is here. */
  owed(nowMs: f64): Ticket | null {
    if (!this.isFull(0, 0)) return null;
    const lowest = this.queue.lowest(nowMs);
    if (!lowest || this.isLower(effectivePriority(lowest, nowMs), nowMs, true)) return null;
    return lowest;
  }

  private exceeds(requests: i32, bytes: f64, share: f64): bool {
    const inFlight = this.core.fleet.inFlight;
    const admission = this.core.config.admission;
    // Requests are whole: a share of a few is one at least.
    const most = Math.ceil(<f64>admission.queueLimit * share);
    if (<f64>(inFlight.held() + requests) > most) return true;
    return inFlight.heldBytes() + bytes > <f64>admission.queueBytes * share;
  }

  /** Whether another worker holds a lower priority; of equal ones the first worker's counts as lower where `orEqual`. */
  private isLower(priority: i32, nowMs: f64, orEqual: bool): bool {
    const fleet = this.core.fleet;
    const workers = fleet.inFlight.workers;
    for (let i = 0, n = workers.count; i < n; i++) {
      const row = workers.holding(i, CURRENT_MS, nowMs);
      if (row == 0) continue;
      const its = RowView.lowestPriority(row);
      if (its < priority || (orEqual && its == priority && i < fleet.row.index)) return true;
    }
    return false;
  }
}
