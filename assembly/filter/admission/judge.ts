import { modelPriority } from "../../admission/priority";
import { slackOf } from "../../admission/heavy";
import { Ticket } from "../../admission/ticket";
import { RequestReader } from "../../body/request";
import { SloMissed } from "../../config/config";
import { Reason } from "../../policy/reason";
import { Core } from "../core";
import { Peering } from "../peers/peering";
import { Phase, Stream } from "../stream";
import { CURRENT_MS } from "./turn";
import { Waiting } from "./waiting";

/**
 * Heavy prompts are kept for the sake of light ones for this share of their time, then they take any server. Those that are in
 * time go before that, so it is about those that aren't: with 0.6 they push in too soon (heavy-light, six seeds at rate 6.4: p90
 * 621 ms, heavy ones in time 67 %; 330 and 72 with this).
 */
const KEPT_SHARE: f64 = 0.8;

/** Now, later or no: what becomes of a request that comes. */
export class Judge {
  constructor(
    private core: Core,
    private waiting: Waiting,
    private peering: Peering,
  ) {}

  /**
   * What becomes of a request that was just decided for, in its own callback.
   * @returns its phase: `Sent` (it may go), `Queued` or `Refused` (it was answered)
   */
  judge(stream: Stream, reader: RequestReader | null, now: f64): Phase {
    const waiting = this.waiting;
    const core = this.core;
    const d = stream.decision;
    const ticket = stream.ticket;
    if (!waiting.isOn || d.choice.count == 0) return Phase.Sent;
    const decider = core.decider;
    const slot = d.choice.slots[0];
    const isFull = !decider.hasRoom(slot);
    const hasRoom = !isFull && !decider.isCongested && !d.isKept;
    const isIdle = hasRoom && decider.isIdle(slot);
    const fleet = core.fleet;
    const isHeld =
      fleet.inFlight.held() > 0 || fleet.peerLoads.isContended(d.isHeavy, CURRENT_MS, now);
    const isFree = isIdle || (hasRoom && !isHeld);
    if (isFree && (isIdle || ticket.deadlineMs == Infinity)) return Phase.Sent;
    this.describe(stream);
    const beforeMs = isFree ? 0 : waiting.drainMs(waiting.queue.workBefore(ticket, now));
    const firstMs = now + beforeMs + (decider.view.isLearned(slot) ? d.waitMs + d.prefillMs : 0);
    if (firstMs > ticket.deadlineMs) return waiting.refuseNow(stream, Reason.Deadline, now);
    if (isFree) return Phase.Sent;
    if (!hasRoom && firstMs > ticket.goalMs) ticket.goalMs = 0;
    // What it takes once it has begun is part of its goal.
    else if (decider.view.isLearned(slot)) ticket.goalMs -= d.prefillMs;
    if (core.config.admission.slo == SloMissed.Reject) {
      if (ticket.goalMs == 0) return waiting.refuseNow(stream, Reason.Deadline, now);
      ticket.deadlineMs = Math.min(ticket.deadlineMs, ticket.goalMs);
    }
    if (!isFull && this.isOwed(stream, now)) {
      waiting.queue.chargeNewcomer(ticket);
      return Phase.Sent;
    }
    if (!this.makePlace(ticket, now)) {
      const isLate = isFull || this.waitMs(slot) > <f64>core.config.admission.maxWaitMs;
      return isLate ? waiting.refuseNow(stream, Reason.QueueFull, now) : Phase.Sent;
    }
    if (reader) decider.keep(d, reader);
    if (waiting.queue.length == 0) waiting.drain.begin(now);
    ticket.queuedMs = now;
    ticket.contends = !hasRoom;
    ticket.expiresMs = Math.min(now + <f64>core.config.admission.queueTimeoutMs, ticket.deadlineMs);
    if (ticket.isHeavy) {
      ticket.freeMs = now + (ticket.expiresMs - now) * KEPT_SHARE;
      ticket.lateMs = ticket.goalMs < Infinity ? ticket.goalMs : now + slackOf(d.prefillMs);
    }
    waiting.queue.add(ticket);
    if (waiting.queue.length == 1) waiting.turn.note(waiting.queue, now);
    waiting.places.added(ticket, now);
    fleet.row.hold(1, ticket.bytes, now);
    core.stats.queueLength.add(1);
    this.peering.held(now);
    if (hasRoom) waiting.wake();
    else waiting.watch();
    return Phase.Queued;
  }

  /** Fills in what the queue goes by, besides what came with the headers. */
  private describe(stream: Stream): void {
    const d = stream.decision;
    const ticket = stream.ticket;
    const cost = this.core.config.cost;
    ticket.owner = stream.id;
    ticket.kind = d.modelHash;
    if (!ticket.hasPriority && ticket.priority == 0) {
      ticket.priority = modelPriority(this.core.config.admission, d.model, d.modelLen);
    }
    ticket.isHeavy = d.isHeavy;
    ticket.workMs = d.workMs(cost.decodeMsPerSequence);
    ticket.bytes = <f64>max<i64>(d.contentLength, <i64>stream.bodyBytes);
  }

  /**
   * Whether a request's tenant is owed its turn before those whose requests wait: then it is bound at once, to the server
   * that is done soonest, if that has no more to do than another request like this, instead of when the next server becomes free.
   */
  private isOwed(stream: Stream, now: f64): bool {
    const ticket = stream.ticket;
    const d = stream.decision;
    if (ticket.tenant == 0 || ticket.isHeavy || !this.waiting.queue.isOwed(ticket, now))
      return false;
    this.core.decider.preferSoonest(d, now);
    const mostMs = <f64>this.core.config.admission.lateBindingMs + d.prefillMs;
    return this.core.decider.view.waitOf(d.choice.slots[0]) <= mostMs;
  }

  /** Sees that there is place in the queue, at the cost of lower priorities if need be. */
  private makePlace(ticket: Ticket, now: f64): bool {
    const places = this.waiting.places;
    if (!places.canFit(ticket, now)) return false;
    while (places.isFull(1, ticket.bytes)) {
      if (places.isLent(ticket, now)) return true;
      const weakest = this.waiting.queue.weakest(ticket, now);
      if (!weakest) return false;
      this.waiting.evict(weakest, now);
    }
    return true;
  }

  /** Time until a host would start what comes now, were all that is held to go before it, ms. */
  private waitMs(slot: i32): f64 {
    const own = this.waiting.queue.length;
    const held = own > 0 ? <f64>this.core.fleet.inFlight.held() / <f64>own : 1;
    const decider = this.core.decider;
    const hosts = Math.max(<f64>decider.usableHosts, 1);
    return decider.view.waitOf(slot) + (this.waiting.queue.workMs * held) / hosts;
  }
}
