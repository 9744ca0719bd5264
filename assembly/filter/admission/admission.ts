import { RequestReader } from "../../body/request";
import { Drain } from "../../admission/drain";
import { modelPriority } from "../../admission/priority";
import { Queue } from "../../admission/queue";
import { Ticket } from "../../admission/ticket";
import { RoutingMode, SloMissed } from "../../config/config";
import { streams } from "../../host/contexts";
import { continueRequest, setEffectiveContext } from "../../host/stream";
import { Reason } from "../../policy/reason";
import { Places } from "./places";
import { refuse } from "./refusal";
import { Core } from "../core";
import { Peering } from "../peers/peering";
import { Dispatcher } from "../request/dispatch";
import { Phase, Stream } from "../stream";
import { CURRENT_MS, Turn } from "./turn";
import { TICK_MS, Wish } from "../ticker";

/** Tick while something is: room comes back as time passes, too, and at other workers. */
const HELD_TICK_MS: u32 = 10;
/** Tick after something that may have made room. Not at once: that is the callback of another stream. */
const WAKE_MS: u32 = 1;
/** Requests that are let go, and others that are answered, in one tick. */
const STEPS_MAX: i32 = 256;
/** Heavy prompts wait for the server that was cheapest for them for this share of their time, then for any. */
const BOUND_SHARE: f64 = 0.5;

/** Now, later or no: holds requests while no server has room for them, and lets them go in order. */
export class Admission {
  private queue: Queue = new Queue();
  private drain: Drain = new Drain();
  /** Those who had to make place: they are answered at the next tick, for an answer stops the callback that it is given in. */
  private evicted: Array<Stream> = new Array<Stream>();
  private periodMs: u32 = TICK_MS;

  private turn: Turn;
  private places!: Places;

  constructor(
    private core: Core,
    private dispatcher: Dispatcher,
    private peering: Peering,
  ) {
    this.turn = new Turn(core);
    this.places = new Places(core, this.queue);
  }

  /** Requests held by this worker. */
  get length(): i32 {
    return this.queue.length;
  }

  /**
   * What becomes of a request that was just decided for, in its own callback.
   * @returns its phase: `Sent` (it may go), `Queued` or `Refused` (it was answered)
   */
  judge(stream: Stream, reader: RequestReader | null, now: f64): Phase {
    const core = this.core;
    const d = stream.decision;
    const ticket = stream.ticket;
    if (!this.isOn || d.choice.count == 0) return Phase.Sent;
    const decider = core.decider;
    const slot = d.choice.slots[0];
    const isFull = !decider.hasRoom(slot);
    const hasRoom = !isFull && !decider.isCongested;
    const isIdle = hasRoom && decider.isIdle(slot);
    const fleet = core.fleet;
    const isHeld = fleet.inFlight.held() > 0 || fleet.peerLoads.isHolding(CURRENT_MS, now);
    const isFree = isIdle || (hasRoom && !isHeld);
    if (isFree && (isIdle || ticket.deadlineMs == Infinity)) return Phase.Sent;
    this.describe(stream);
    const beforeMs = isFree ? 0 : this.drainMs(this.queue.workBefore(ticket, now));
    const firstMs = now + beforeMs + (decider.view.isLearned(slot) ? d.waitMs + d.prefillMs : 0);
    if (firstMs > ticket.deadlineMs) return this.refuseNow(stream, Reason.Deadline, now);
    if (isFree) return Phase.Sent;
    if (!hasRoom && firstMs > ticket.goalMs) ticket.goalMs = 0;
    // What it takes once it has begun is part of its goal.
    else if (decider.view.isLearned(slot)) ticket.goalMs -= d.prefillMs;
    if (core.config.admission.slo == SloMissed.Reject) {
      if (ticket.goalMs == 0) return this.refuseNow(stream, Reason.Deadline, now);
      ticket.deadlineMs = Math.min(ticket.deadlineMs, ticket.goalMs);
    }
    if (!isFull && this.isOwed(stream, now)) {
      this.queue.chargeNewcomer(ticket);
      return Phase.Sent;
    }
    if (!this.makePlace(ticket, now)) {
      const isLate = isFull || this.waitMs(slot) > <f64>core.config.admission.maxWaitMs;
      return isLate ? this.refuseNow(stream, Reason.QueueFull, now) : Phase.Sent;
    }
    if (reader) decider.keep(d, reader);
    if (this.queue.length == 0) this.drain.begin(now);
    ticket.queuedMs = now;
    ticket.expiresMs = Math.min(now + <f64>core.config.admission.queueTimeoutMs, ticket.deadlineMs);
    ticket.freeMs = now + (ticket.expiresMs - now) * BOUND_SHARE;
    this.queue.add(ticket);
    if (this.queue.length == 1) this.turn.note(this.queue, now);
    this.places.added(ticket, now);
    fleet.row.hold(1, ticket.bytes, now);
    core.stats.queueLength.add(1);
    this.peering.held(now);
    if (hasRoom) this.wake();
    else if (this.periodMs == TICK_MS) this.setPeriod(HELD_TICK_MS);
    return Phase.Queued;
  }

  /** Something may have made room: a request left its server, or came to its first token. */
  wake(): void {
    const isWaiting = this.queue.length > 0 || this.evicted.length > 0;
    if (isWaiting && this.periodMs != WAKE_MS) this.setPeriod(WAKE_MS);
  }

  /** A held request's client has gone. */
  abandon(stream: Stream, now: f64): void {
    const at = this.evicted.indexOf(stream);
    if (at >= 0) this.evicted.splice(at, 1);
    else this.leave(stream, now);
    stream.decision.choice.count = 0;
  }

  /** Time passes: who has room goes, whose time is over is answered. */
  tick(now: f64): void {
    if (this.queue.length == 0 && this.evicted.length == 0) {
      this.setPeriod(TICK_MS);
      return;
    }
    this.drain.pass(now);
    this.core.fleet.inFlight.refreshAll(now);
    let owed = this.places.owed(now);
    while (owed) {
      this.evict(owed, now);
      owed = this.places.owed(now);
    }
    while (this.evicted.length > 0) this.answer(this.evicted.pop(), Reason.QueueFull, now);
    const released = this.release(now, STEPS_MAX);
    const expired = this.expire(now);
    this.turn.note(this.queue, now);
    this.places.note(now);
    this.core.fleet.row.publish(now);
    setEffectiveContext(this.core.id);
    this.peering.held(now);
    const more = released == STEPS_MAX || expired == STEPS_MAX;
    this.setPeriod(more ? WAKE_MS : this.queue.length > 0 ? HELD_TICK_MS : TICK_MS);
  }

  /** Lets all go that are held: nobody would come back to them. */
  releaseAll(now: f64): void {
    let ticket = this.queue.any();
    while (ticket) {
      this.letGo(ticket, now);
      ticket = this.queue.any();
    }
    while (this.evicted.length > 0) this.answer(this.evicted.pop(), Reason.QueueFull, now);
    setEffectiveContext(this.core.id);
  }

  private get isOn(): bool {
    const config = this.core.config;
    return config.admission.enabled && config.routing.mode == RoutingMode.Enforce;
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
    if (ticket.tenant == 0 || ticket.isHeavy || !this.queue.isOwed(ticket, now)) return false;
    this.core.decider.preferSoonest(d, now);
    const mostMs = <f64>this.core.config.admission.lateBindingMs + d.prefillMs;
    return this.core.decider.view.waitOf(d.choice.slots[0]) <= mostMs;
  }

  /** Sees that there is place in the queue, at the cost of lower priorities if need be. */
  private makePlace(ticket: Ticket, now: f64): bool {
    const places = this.places;
    if (!places.canFit(ticket, now)) return false;
    while (places.isFull(1, ticket.bytes)) {
      if (places.isLent(ticket, now)) return true;
      const weakest = this.queue.weakest(ticket, now);
      if (!weakest) return false;
      this.evict(weakest, now);
    }
    return true;
  }

  /** Gives a held request up: it is answered at the next tick. */
  private evict(ticket: Ticket, now: f64): void {
    const stream = streamOf(ticket);
    if (!stream) {
      this.queue.remove(ticket);
      return;
    }
    this.leave(stream, now);
    this.evicted.push(stream);
    this.wake();
  }

  /** @returns how many went */
  private release(now: f64, most: i32): i32 {
    const queue = this.queue;
    const decider = this.core.decider;
    let released = 0;
    let isRoom = false;
    decider.view.isHolding = true;
    queue.beginPass();
    while (released < most) {
      const ticket = queue.next(now);
      if (!ticket) break;
      const stream = streamOf(ticket);
      if (!stream) {
        queue.remove(ticket);
        continue;
      }
      const d = stream.decision;
      if (now >= ticket.freeMs) d.boundSlot = -1;
      decider.decideAgain(d, now);
      const isHost = d.choice.count > 0;
      if (this.isOn && isHost && (decider.isCongested || !decider.hasRoom(d.choice.slots[0]))) {
        queue.refuse(ticket);
        continue;
      }
      isRoom = true;
      if (this.isOn && !this.turn.isMine(ticket, isHost ? d.choice.slots[0] : -1, now)) break;
      this.turn.taken(now);
      this.letGo(ticket, now);
      released++;
    }
    decider.view.isHolding = false;
    if (!isRoom) this.turn.noRoom();
    return released;
  }

  /** @returns how many were answered */
  private expire(now: f64): i32 {
    for (let expired = 0; expired < STEPS_MAX; expired++) {
      const ticket = this.queue.expired(now);
      if (!ticket) return expired;
      const stream = streamOf(ticket);
      if (!stream) {
        this.queue.remove(ticket);
        continue;
      }
      this.leave(stream, now);
      this.answer(stream, now >= ticket.deadlineMs ? Reason.Deadline : Reason.QueueTimeout, now);
    }
    return STEPS_MAX;
  }

  private letGo(ticket: Ticket, now: f64): void {
    const stream = streamOf(ticket);
    this.drain.started(ticket.workMs);
    this.queue.charge(ticket);
    if (!stream) {
      this.queue.remove(ticket);
      return;
    }
    this.leave(stream, now);
    // Other gateways hear of this one, and who is next after it, in one message.
    if (this.peering.others > 0) this.turn.note(this.queue, now);
    if (!setEffectiveContext(stream.id)) return;
    stream.phase = Phase.Sent;
    this.dispatcher.dispatch(stream, now);
    continueRequest();
  }

  /** Takes a request out of the queue and the counts. */
  private leave(stream: Stream, now: f64): void {
    const ticket = stream.ticket;
    if (ticket.place < 0) return;
    this.queue.remove(ticket);
    this.core.fleet.row.hold(-1, -ticket.bytes, now);
    const heldMs = Math.max(now - ticket.queuedMs, 0);
    stream.decision.queuedMs = heldMs;
    this.core.stats.queueLength.add(-1);
    this.core.stats.queueWait.record(<u64>Math.min(heldMs, 1e12));
  }

  /** Answers a held request 429, from a tick. */
  private answer(stream: Stream, reason: i32, now: f64): void {
    if (setEffectiveContext(stream.id)) this.refuseNow(stream, reason, now);
  }

  /** Answers the request in effect 429. */
  private refuseNow(stream: Stream, reason: i32, now: f64): Phase {
    const d = stream.decision;
    d.reason = reason;
    d.choice.count = 0;
    stream.phase = Phase.Refused;
    this.core.stats.rejected(reason);
    const waitMs = this.drainMs(this.queue.workMs);
    if (!refuse(reason, waitMs)) this.core.stats.internalErrors.add(1);
    return Phase.Refused;
  }

  /** Time until so much work of the queue has been started; while little was seen, each host is taken to do one ms in a ms. */
  private drainMs(workMs: f64): f64 {
    return this.drain.waitMs(workMs, Math.max(<f64>this.core.decider.usableHosts, 1));
  }

  /** Time until a host would start what comes now, were all that is held to go before it, ms. */
  private waitMs(slot: i32): f64 {
    const own = this.queue.length;
    const held = own > 0 ? <f64>this.core.fleet.inFlight.held() / <f64>own : 1;
    const decider = this.core.decider;
    const hosts = Math.max(<f64>decider.usableHosts, 1);
    return decider.view.waitOf(slot) + (this.queue.workMs * held) / hosts;
  }

  private setPeriod(periodMs: u32): void {
    if (periodMs == this.periodMs) return;
    this.periodMs = periodMs;
    this.core.ticker.want(Wish.Admission, periodMs);
  }
}

function streamOf(ticket: Ticket): Stream | null {
  const stream = streams.get(ticket.owner);
  return stream ? <Stream>stream : null;
}
