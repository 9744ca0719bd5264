import { Queue, effectivePriority, urgency, weighedWorkMs } from "../../admission/queue";
import { Ticket } from "../../admission/ticket";
import { Next } from "../../peers/held";
import { PeerView } from "../../state/peerview";
import { RowView } from "../../state/rowview";
import { Core } from "../core";

/** What a worker with requests to go said of them so long ago doesn't hold the others up, ms. It says it anew at each tick. */
export const CURRENT_MS: f64 = 100;
/**
 * Room that a worker leaves to another which then doesn't take it is its own after this, ms: two of the other's ticks. A gateway
 * that several others come before waits as long for each of them, or all the rest would take it at once.
 */
const PATIENCE_MS: f64 = 25;

/**
 * Whose turn it is among the workers, and among gateways that hear each other: each has its own queue, and all of them give
 * out the same room. Each publishes who is next in its queue; one whose next has a lower priority, or is less urgent, leaves the
 * room to the other. Between tenants the workers take turns, for a tenant's fair share is known within a worker only.
 *
 * Only what contends for room is published: a light request that was denied it or left it to another, else a heavy one, whom
 * only heavy ones wait for. What has room and was never denied it is on its way; while such a one was waited for, light requests
 * stood 30 ms beside idle servers (heavy-light before 64 servers, 16 gateways, first half: p50 / p90 56 / 259 ms; 36 / 146 with
 * this, 34 / 105 with one gateway).
 */
export class Turn {
  /** Since when room is left to others, and when it was last, ms. */
  private leftSinceMs: f64 = 0;
  private leftLastMs: f64 = 0;
  /** Whose room that was: a host's slot. */
  private leftSlot: i32 = -1;
  /** Of the request asked for last; and when this worker last let one go, ms. */
  private priority: i32 = 0;
  private tenant: u32 = 0;
  private urgency: f64 = 0;
  private letGoMs: f64 = 0;

  constructor(private core: Core) {}

  /** Notes who is next here, for the others: to be published with the row. */
  note(queue: Queue, nowMs: f64): void {
    const row = this.core.fleet.row;
    const next = queue.contender(nowMs);
    if (!next) {
      row.clearNext();
      return;
    }
    row.setNext(
      next.isHeavy ? Next.Heavy : Next.Light,
      effectivePriority(next, nowMs),
      <u32>next.tenant,
      next.queuedMs,
      weighedWorkMs(next, nowMs),
    );
  }

  /**
   * Whether a request that has room takes it, or leaves it to another worker's or gateway's. A light one takes it, too, where
   * there is room for all that come before it: else many gateways take servers that come free one after the other, a tick and a
   * message apart (Azure code, the same way: p90 / p99 575 / 1,864 ms; 464 / 1,009 with this, 417 / 896 with one gateway).
   * @param slot the host that has room
   */
  isMine(ticket: Ticket, slot: i32, nowMs: f64): bool {
    const ahead = this.ahead(ticket, nowMs);
    if (ahead > 0 && (ticket.isHeavy || this.core.decider.openingsAt(nowMs) <= ahead)) {
      const isLeft = nowMs - this.leftLastMs < PATIENCE_MS && nowMs >= this.leftLastMs;
      const isOther = this.hasPeers && slot != this.leftSlot;
      if (!isLeft || isOther) this.leftSinceMs = nowMs;
      this.leftLastMs = nowMs;
      this.leftSlot = slot;
      if (nowMs - this.leftSinceMs < PATIENCE_MS * <f64>ahead) return false;
    }
    this.leftLastMs = 0;
    return true;
  }

  /** Nobody here has room: what was left to another gateway was taken, and the next is left anew. */
  noRoom(): void {
    if (this.hasPeers) this.leftLastMs = 0;
  }

  /** A held request is let go. */
  taken(nowMs: f64): void {
    this.core.fleet.row.setLetGo(nowMs);
  }

  private get hasPeers(): bool {
    return this.core.fleet.peerLoads.recordCount > 0;
  }

  /** How many come before a request: gateways, and one for the other workers of this one. */
  private ahead(ticket: Ticket, nowMs: f64): i32 {
    const fleet = this.core.fleet;
    const workers = fleet.inFlight.workers;
    this.priority = effectivePriority(ticket, nowMs);
    this.urgency = urgency(ticket.queuedMs, weighedWorkMs(ticket, nowMs), nowMs);
    this.tenant = <u32>ticket.tenant;
    this.letGoMs = RowView.letGoMs(fleet.row.bytes);
    let ahead = 0;
    for (let i = 0, n = workers.count; i < n && ahead == 0; i++) {
      const at = workers.holding(i, CURRENT_MS, nowMs);
      if (at == 0 || !isOver(RowView.next(at), ticket)) continue;
      const its = urgency(RowView.nextSinceMs(at), RowView.nextWorkMs(at), nowMs);
      const letGoMs = RowView.letGoMs(at);
      if (this.isAfter(RowView.nextPriority(at), RowView.nextTenant(at), its, letGoMs)) ahead++;
    }
    const peers = fleet.peerLoads;
    for (let i = 0, n = peers.recordCount; i < n; i++) {
      const at = peers.contending(i, CURRENT_MS, nowMs);
      if (at == 0 || !isOver(PeerView.next(at), ticket)) continue;
      const its = urgency(PeerView.nextSinceMs(at), PeerView.nextWorkMs(at), nowMs);
      const letGoMs = PeerView.letGoMs(at);
      if (this.isAfter(PeerView.nextPriority(at), PeerView.nextTenant(at), its, letGoMs)) ahead++;
    }
    return ahead;
  }

  /** Whether the request asked for comes after another worker's or gateway's next. @param letGoMs when that last let one go */
  private isAfter(priority: i32, tenant: u32, itsUrgency: f64, letGoMs: f64): bool {
    if (priority != this.priority) return priority > this.priority;
    return tenant == this.tenant ? itsUrgency > this.urgency : letGoMs < this.letGoMs;
  }
}

/** Whether a request may have to leave room to such a one. */
@inline
function isOver(next: Next, ticket: Ticket): bool {
  return next == Next.Light || (next == Next.Heavy && ticket.isHeavy);
}
