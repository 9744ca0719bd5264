import { Drain } from "../../admission/drain";
import { Queue } from "../../admission/queue";
import { Ticket } from "../../admission/ticket";
import { RoutingMode } from "../../config/config";
import { streams } from "../../host/contexts";
import { setEffectiveContext } from "../../host/stream";
import { Core } from "../core";
import { Phase, Stream } from "../stream";
import { TICK_MS, Wish } from "../ticker";
import { Places } from "./places";
import { refuse } from "./refusal";
import { Turn } from "./turn";

/** Tick while something is held: room comes back as time passes, too, and at other workers. */
export const HELD_TICK_MS: u32 = 10;
/** Tick after something that may have made room. Not at once: that is the callback of another stream. */
export const WAKE_MS: u32 = 1;

/** Who is held at this worker, in what order, and how one leaves. */
export class Waiting {
  readonly queue: Queue;
  readonly drain: Drain = new Drain();
  /** Those who had to make place: they are answered at the next tick, for an answer stops the callback that it is given in. */
  readonly evicted: Array<Stream> = new Array<Stream>();
  readonly turn: Turn;
  readonly places: Places;
  private periodMs: u32 = TICK_MS;

  constructor(private core: Core) {
    const queue = new Queue();
    this.queue = queue;
    this.turn = new Turn(core);
    this.places = new Places(core, queue);
  }

  /** Whether requests are held at all. */
  get isOn(): bool {
    const config = this.core.config;
    return config.admission.enabled && config.routing.mode == RoutingMode.Enforce;
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

  /** Gives a held request up: it is answered at the next tick. */
  evict(ticket: Ticket, now: f64): void {
    const stream = streamOf(ticket);
    if (!stream) {
      this.queue.remove(ticket);
      return;
    }
    this.leave(stream, now);
    this.evicted.push(stream);
    this.wake();
  }

  /** Takes a request out of the queue and the counts. */
  leave(stream: Stream, now: f64): void {
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
  answer(stream: Stream, reason: i32, now: f64): void {
    if (setEffectiveContext(stream.id)) this.refuseNow(stream, reason, now);
  }

  /** Answers the request in effect 429. */
  refuseNow(stream: Stream, reason: i32, now: f64): Phase {
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
  drainMs(workMs: f64): f64 {
    return this.drain.waitMs(workMs, Math.max(<f64>this.core.decider.usableHosts, 1));
  }

  /** Ticks this often from now on. */
  setPeriod(periodMs: u32): void {
    if (periodMs == this.periodMs) return;
    this.periodMs = periodMs;
    this.core.ticker.want(Wish.Admission, periodMs);
  }

  /** Ticks as something held needs it, unless it is to be woken sooner. */
  watch(): void {
    if (this.periodMs == TICK_MS) this.setPeriod(HELD_TICK_MS);
  }
}

/** The stream that a ticket stands for; null if it is gone. */
export function streamOf(ticket: Ticket): Stream | null {
  const stream = streams.get(ticket.owner);
  return stream ? <Stream>stream : null;
}
