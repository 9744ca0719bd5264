import { Queue, effectivePriority, urgency } from "../../admission/queue";
import { Ticket } from "../../admission/ticket";
import { PeerView } from "../../state/peerview";
import { RowView } from "../../state/row";
import { Core } from "../core";

/** What a worker with requests to go said of them so long ago doesn't hold the others up, ms. It says it anew at each tick. */
export const CURRENT_MS: f64 = 100;
/** Room that a worker leaves to another which then doesn't take it is its own after this, ms: two of the other's ticks. */
const PATIENCE_MS: f64 = 25;

/**
 * Whose turn it is among the workers, and among gateways that hear each other: each has its own queue, and all of them give
 * out the same room. Each publishes who is next in its queue; one whose next has a lower priority, or is less urgent, leaves the room to the other. Between tenants
 * the workers take turns, for a tenant's fair share is known within a worker only.
 */
export class Turn {
  /** Since when room is left to others, and when it was last, ms. */
  private leftSinceMs: f64 = 0;
  private leftLastMs: f64 = 0;
  /** Of the request asked for last; and when this worker last let one go, ms. */
  private priority: i32 = 0;
  private tenant: u32 = 0;
  private urgency: f64 = 0;
  private letGoMs: f64 = 0;

  constructor(private core: Core) {}

  /** Notes who is next here, for the others: to be published with the row. */
  note(queue: Queue, nowMs: f64): void {
    queue.beginPass();
    const next = queue.next(nowMs);
    if (!next) return;
    const priority = effectivePriority(next, nowMs);
    this.core.fleet.row.setNext(priority, <u32>next.tenant, next.queuedMs, next.workMs);
  }

  /** Whether a request that has room takes it, or leaves it to another worker's. */
  isMine(ticket: Ticket, nowMs: f64): bool {
    if (!this.isFirst(ticket, nowMs)) {
      const isLeft = nowMs - this.leftLastMs < PATIENCE_MS && nowMs >= this.leftLastMs;
      if (!isLeft) this.leftSinceMs = nowMs;
      this.leftLastMs = nowMs;
      if (nowMs - this.leftSinceMs < PATIENCE_MS) return false;
    }
    this.leftLastMs = 0;
    return true;
  }

  /** A held request is let go. */
  taken(nowMs: f64): void {
    this.core.fleet.row.setLetGo(nowMs);
  }

  private isFirst(ticket: Ticket, nowMs: f64): bool {
    const fleet = this.core.fleet;
    const inFlight = fleet.inFlight;
    this.priority = effectivePriority(ticket, nowMs);
    this.urgency = urgency(ticket.queuedMs, ticket.workMs, nowMs);
    this.tenant = <u32>ticket.tenant;
    this.letGoMs = RowView.letGoMs(fleet.row.bytes);
    for (let i = 0, n = inFlight.otherRows; i < n; i++) {
      const at = inFlight.holding(i, CURRENT_MS, nowMs);
      if (at == 0) continue;
      const its = urgency(RowView.nextSinceMs(at), RowView.nextWorkMs(at), nowMs);
      const letGoMs = RowView.letGoMs(at);
      if (this.isAfter(RowView.nextPriority(at), RowView.nextTenant(at), its, letGoMs))
        return false;
    }
    const peers = fleet.peerLoads;
    for (let i = 0, n = peers.recordCount; i < n; i++) {
      const at = peers.holding(i, CURRENT_MS, nowMs);
      if (at == 0) continue;
      const its = urgency(PeerView.nextSinceMs(at), PeerView.nextWorkMs(at), nowMs);
      const letGoMs = PeerView.letGoMs(at);
      if (this.isAfter(PeerView.nextPriority(at), PeerView.nextTenant(at), its, letGoMs))
        return false;
    }
    return true;
  }

  /** Whether the request asked for comes after another worker's or gateway's next. @param letGoMs when that last let one go */
  private isAfter(priority: i32, tenant: u32, itsUrgency: f64, letGoMs: f64): bool {
    if (priority != this.priority) return priority > this.priority;
    return tenant == this.tenant ? itsUrgency > this.urgency : letGoMs < this.letGoMs;
  }
}
