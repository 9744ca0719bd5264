import { Ticket } from "../../admission/ticket";
import { continueRequest, setEffectiveContext } from "../../host/stream";
import { Reason } from "../../policy/reason";
import { Core } from "../core";
import { Peering } from "../peers/peering";
import { Dispatcher } from "../request/dispatch";
import { Phase } from "../stream";
import { TICK_MS } from "../ticker";
import { HELD_TICK_MS, WAKE_MS, Waiting, streamOf } from "./waiting";

/** Requests that are let go, and others that are answered, in one tick. */
const STEPS_MAX: i32 = 256;

/** When do those that are held go? */
export class Release {
  constructor(
    private core: Core,
    private waiting: Waiting,
    private dispatcher: Dispatcher,
    private peering: Peering,
  ) {}

  /** Time passes: who has room goes, whose time is over is answered. */
  tick(now: f64): void {
    const waiting = this.waiting;
    if (waiting.queue.length == 0 && waiting.evicted.length == 0) {
      waiting.setPeriod(TICK_MS);
      return;
    }
    waiting.drain.pass(now);
    this.core.fleet.inFlight.refreshAll(now);
    let owed = waiting.places.owed(now);
    while (owed) {
      waiting.evict(owed, now);
      owed = waiting.places.owed(now);
    }
    while (waiting.evicted.length > 0) waiting.answer(waiting.evicted.pop(), Reason.QueueFull, now);
    const released = this.release(now, STEPS_MAX);
    const expired = this.expire(now);
    waiting.turn.note(waiting.queue, now);
    waiting.places.note(now);
    this.core.fleet.row.publish(now);
    setEffectiveContext(this.core.id);
    this.peering.held(now);
    const more = released == STEPS_MAX || expired == STEPS_MAX;
    waiting.setPeriod(more ? WAKE_MS : waiting.queue.length > 0 ? HELD_TICK_MS : TICK_MS);
  }

  /** Lets all go that are held: nobody would come back to them. */
  releaseAll(now: f64): void {
    const waiting = this.waiting;
    let ticket = waiting.queue.any();
    while (ticket) {
      this.letGo(ticket, now);
      ticket = waiting.queue.any();
    }
    while (waiting.evicted.length > 0) waiting.answer(waiting.evicted.pop(), Reason.QueueFull, now);
    setEffectiveContext(this.core.id);
  }

  /** @returns how many went */
  private release(now: f64, most: i32): i32 {
    const waiting = this.waiting;
    const queue = waiting.queue;
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
      d.isFree = now >= ticket.freeMs;
      d.slackMs = ticket.lateMs - now;
      d.heldMs = now - ticket.queuedMs;
      decider.decideAgain(d, now);
      const isHost = d.choice.count > 0;
      const isRoomFor =
        isHost && !d.isKept && !decider.isCongested && decider.hasRoom(d.choice.slots[0]);
      if (waiting.isOn && isHost && !isRoomFor) {
        ticket.contends = true;
        queue.refuse(ticket);
        continue;
      }
      isRoom = true;
      if (waiting.isOn && !waiting.turn.isMine(ticket, isHost ? d.choice.slots[0] : -1, now)) {
        ticket.contends = true;
        break;
      }
      waiting.turn.taken(now);
      this.letGo(ticket, now);
      released++;
    }
    decider.view.isHolding = false;
    if (!isRoom) waiting.turn.noRoom();
    return released;
  }

  /** @returns how many were answered */
  private expire(now: f64): i32 {
    const waiting = this.waiting;
    for (let expired = 0; expired < STEPS_MAX; expired++) {
      const ticket = waiting.queue.expired(now);
      if (!ticket) return expired;
      const stream = streamOf(ticket);
      if (!stream) {
        waiting.queue.remove(ticket);
        continue;
      }
      waiting.leave(stream, now);
      waiting.answer(stream, now >= ticket.deadlineMs ? Reason.Deadline : Reason.QueueTimeout, now);
    }
    return STEPS_MAX;
  }

  private letGo(ticket: Ticket, now: f64): void {
    const waiting = this.waiting;
    const stream = streamOf(ticket);
    waiting.drain.started(ticket.workMs);
    waiting.queue.charge(ticket);
    if (!stream) {
      waiting.queue.remove(ticket);
      return;
    }
    waiting.leave(stream, now);
    // Other gateways hear of this one, and who is next after it, in one message.
    if (this.peering.others > 0) waiting.turn.note(waiting.queue, now);
    if (!setEffectiveContext(stream.id)) return;
    stream.phase = Phase.Sent;
    this.dispatcher.dispatch(stream, now);
    continueRequest();
  }
}
