import { Shares } from "./shares";
import { Ticket } from "./ticket";

/**
 * Work that each request has besides what is predicted, ms: of two tiny ones the older goes first. With 60 light prompts pass
 * each other less (heavy-light, seeds 1, 4), but Azure's p50 and p90 are 1.16 and 1.07 times as long (first half at 0.9).
 */
const LEAST_WORK_MS: f64 = 10;
/**
 * Work counts for more by this factor where a heavy prompt is late: those that can still be in time go first (heavy-light, six
 * seeds at rate 5.2: 90 % of the heavy ones in time, 77 without).
 */
const LATE_WORK: f64 = 10;
/**
 * A heavy prompt's work counts as it is with so long to go until it is late, ms, and else by the third root of that: the one with
 * less slack goes first (the same seeds at rates 4.33, 5.2: p90 240, 316 ms; 284, 336 by work alone).
 */
const PLAIN_SLACK_MS: f64 = 1000;
/** Slack is never less, ms. */
const LEAST_SLACK_MS: f64 = 100;
/** Waiting for so long counts double, ms. */
const LONG_WAIT_MS: f64 = 8000;
/** Below all that can still be served in time. */
const GOAL_MISSED: i32 = -1000;
/** Kinds of requests that one pass finds no room for before it ends. */
const REFUSED_MAX: i32 = 16;

/** Which tickets are looked at. */
const enum Who {
  /** Those that weren't refused in this pass. */
  Left,
  LightContender,
  Heavy,
}

/**
 * Requests that wait for room, in the order in which they are to go: strictly by priority, then fair between tenants, then
 * by time waited over work cubed: highest response ratio next (Brinch Hansen 1971), with small work preferred
 * still more, which serves more requests in time when not all can be. Nothing starves: long waiting counts ever more.
 *
 * Memory grows with the queue and no further; whoever adds to it bounds it. Finding the next one looks at all of them: some
 * ns each, and only while requests are held.
 */
export class Queue {
  private tickets: Array<Ticket> = new Array<Ticket>();
  private shares: Shares = new Shares();
  private refused: StaticArray<u64> = new StaticArray<u64>(REFUSED_MAX);
  private refusedHeavy: StaticArray<bool> = new StaticArray<bool>(REFUSED_MAX);
  private refusals: i32 = 0;
  /** No ticket expires before, ms. */
  private nextExpiryMs: f64 = Infinity;
  /** Body bytes, and expected work in ms, of all that wait. */
  bytes: f64 = 0;
  workMs: f64 = 0;

  get length(): i32 {
    return this.tickets.length;
  }

  /** Enters a ticket whose fields are filled in. */
  add(ticket: Ticket): void {
    ticket.place = this.tickets.length;
    ticket.share = this.shares.enter(ticket.tenant);
    this.tickets.push(ticket);
    this.bytes += ticket.bytes;
    this.workMs += ticket.workMs;
    if (ticket.expiresMs < this.nextExpiryMs) this.nextExpiryMs = ticket.expiresMs;
  }

  /** Takes a ticket out, wherever it stands; nothing if it isn't in the queue. */
  remove(ticket: Ticket): void {
    const place = ticket.place;
    if (place < 0) return;
    const last = this.tickets.pop();
    if (last != ticket) {
      unchecked((this.tickets[place] = last));
      last.place = place;
    }
    ticket.place = -1;
    this.shares.leave(ticket.share);
    const isEmpty = this.tickets.length == 0;
    this.bytes = isEmpty ? 0 : this.bytes - ticket.bytes;
    this.workMs = isEmpty ? 0 : this.workMs - ticket.workMs;
    if (isEmpty) this.nextExpiryMs = Infinity;
  }

  /** A ticket's request goes now: its tenant is charged. */
  charge(ticket: Ticket): void {
    this.shares.charge(ticket.share, ticket.workMs);
  }

  /**
   * Whether a newcomer's tenant is owed its turn: others wait, it has had no more than its share, and it has nobody waiting.
   * Nobody here has a higher priority.
   */
  isOwed(newcomer: Ticket, nowMs: f64): bool {
    if (this.tickets.length == 0 || !this.shares.isOwed(newcomer.tenant)) return false;
    const priority = effectivePriority(newcomer, nowMs);
    for (let i = 0, n = this.tickets.length; i < n; i++) {
      if (effectivePriority(unchecked(this.tickets[i]), nowMs) > priority) return false;
    }
    return true;
  }

  /** A request goes that never waited: its tenant is charged. */
  chargeNewcomer(ticket: Ticket): void {
    const share = this.shares.enter(ticket.tenant);
    this.shares.charge(share, ticket.workMs);
    this.shares.leave(share);
  }

  /** Begins a pass: everybody may have room again. */
  beginPass(): void {
    this.refusals = 0;
  }

  /** In this pass there is no room for requests like this one; where there is none for light ones there is none for heavy ones. */
  refuse(ticket: Ticket): void {
    if (this.refusals < REFUSED_MAX) {
      unchecked((this.refused[this.refusals] = ticket.kind));
      unchecked((this.refusedHeavy[this.refusals] = ticket.isHeavy));
    }
    this.refusals++;
  }

  /** The ticket whose turn it is, of those that weren't refused in this pass; null for none. */
  next(nowMs: f64): Ticket | null {
    return this.refusals < REFUSED_MAX ? this.first(Who.Left, nowMs) : null;
  }

  /**
   * The ticket that others go by: a light one that contends for room, else a heavy one; null for none. Light ones don't wait for
   * heavy ones, which are kept for their sake; and one that has room and hasn't been denied it is on its way.
   */
  contender(nowMs: f64): Ticket | null {
    const light = this.first(Who.LightContender, nowMs);
    return light ? light : this.first(Who.Heavy, nowMs);
  }

  private first(who: Who, nowMs: f64): Ticket | null {
    let best: Ticket | null = null;
    let bestPriority = i32.MIN_VALUE;
    let bestClock: f64 = 0;
    let mostUrgent: f64 = 0;
    for (let i = 0, n = this.tickets.length; i < n; i++) {
      const ticket = unchecked(this.tickets[i]);
      const priority = effectivePriority(ticket, nowMs);
      if (priority < bestPriority || !this.isOf(who, ticket)) continue;
      const clock = this.shares.clock(ticket.share);
      const its = urgency(ticket.queuedMs, weighedWorkMs(ticket, nowMs), nowMs);
      if (priority == bestPriority) {
        if (clock > bestClock) continue;
        if (clock == bestClock && its <= mostUrgent) continue;
      }
      best = ticket;
      bestPriority = priority;
      bestClock = clock;
      mostUrgent = its;
    }
    return best;
  }

  /** A ticket whose time is over; null for none. */
  expired(nowMs: f64): Ticket | null {
    if (nowMs < this.nextExpiryMs) return null;
    let nextMs: f64 = Infinity;
    for (let i = 0, n = this.tickets.length; i < n; i++) {
      const ticket = unchecked(this.tickets[i]);
      if (ticket.expiresMs <= nowMs) return ticket;
      if (ticket.expiresMs < nextMs) nextMs = ticket.expiresMs;
    }
    this.nextExpiryMs = nextMs;
    return null;
  }

  /**
   * Who makes place for a newcomer: of the lowest priority below its own, the one with the most work; if there is none, of the
   * tenant that has the most waiting, if it has more than the newcomer's. Null for nobody.
   */
  weakest(newcomer: Ticket, nowMs: f64): Ticket | null {
    const priority = effectivePriority(newcomer, nowMs);
    const waiting = this.shares.waitingOf(newcomer.tenant) + 1;
    let weakest: Ticket | null = null;
    let lowest = priority;
    let most = waiting;
    let mostWork: f64 = 0;
    for (let i = 0, n = this.tickets.length; i < n; i++) {
      const ticket = unchecked(this.tickets[i]);
      const its = effectivePriority(ticket, nowMs);
      if (its > lowest) continue;
      // Within the newcomer's own priority only who crowds others out gives way.
      const crowd = its < priority ? 0 : this.shares.waiting(ticket.share);
      if (its == priority && crowd <= waiting) continue;
      if (its == lowest && weakest) {
        if (crowd < most || (crowd == most && ticket.workMs <= mostWork)) continue;
      }
      weakest = ticket;
      lowest = its;
      most = crowd;
      mostWork = ticket.workMs;
    }
    return weakest;
  }

  /** Who is given up first when the queue is too long: of the lowest priority, the one with the most work; null for nobody. */
  lowest(nowMs: f64): Ticket | null {
    let lowest: Ticket | null = null;
    let priority = i32.MAX_VALUE;
    let mostWork: f64 = 0;
    for (let i = 0, n = this.tickets.length; i < n; i++) {
      const ticket = unchecked(this.tickets[i]);
      const its = effectivePriority(ticket, nowMs);
      if (its > priority || (its == priority && ticket.workMs <= mostWork)) continue;
      lowest = ticket;
      priority = its;
      mostWork = ticket.workMs;
    }
    return lowest;
  }

  /** Body bytes of those who could make place for a newcomer. */
  bytesBelow(newcomer: Ticket, nowMs: f64): f64 {
    const priority = effectivePriority(newcomer, nowMs);
    const waiting = this.shares.waitingOf(newcomer.tenant) + 1;
    let bytes: f64 = 0;
    for (let i = 0, n = this.tickets.length; i < n; i++) {
      const ticket = unchecked(this.tickets[i]);
      const its = effectivePriority(ticket, nowMs);
      const crowds = its == priority && this.shares.waiting(ticket.share) > waiting;
      if (its < priority || crowds) bytes += ticket.bytes;
    }
    return bytes;
  }

  /** Work that goes before a newcomer, as far as it waits already, ms: of higher priorities, and what isn't larger. */
  workBefore(newcomer: Ticket, nowMs: f64): f64 {
    const priority = effectivePriority(newcomer, nowMs);
    let workMs: f64 = 0;
    for (let i = 0, n = this.tickets.length; i < n; i++) {
      const ticket = unchecked(this.tickets[i]);
      const its = effectivePriority(ticket, nowMs);
      if (its > priority || (its == priority && ticket.workMs <= newcomer.workMs))
        workMs += ticket.workMs;
    }
    return workMs;
  }

  /** Any ticket, to empty the queue; null when it is empty. */
  any(): Ticket | null {
    return this.tickets.length > 0 ? this.tickets[this.tickets.length - 1] : null;
  }

  private isOf(who: Who, ticket: Ticket): bool {
    if (who == Who.Left) return this.refusals == 0 || !this.isRefused(ticket);
    return who == Who.Heavy ? ticket.isHeavy : ticket.contends && !ticket.isHeavy;
  }

  private isRefused(ticket: Ticket): bool {
    for (let i = 0; i < this.refusals; i++) {
      if (unchecked(this.refused[i]) != ticket.kind) continue;
      if (ticket.isHeavy || !unchecked(this.refusedHeavy[i])) return true;
    }
    return false;
  }
}

/**
 * How much it is the turn of a request that waits since `sinceMs`. Waiting counts from a ms on, so that of those which came
 * together the smallest goes first; and ever more once it lasts, so that the largest, too, goes before it would be given up.
 */
@inline
export function urgency(sinceMs: f64, workMs: f64, nowMs: f64): f64 {
  const work = workMs + LEAST_WORK_MS;
  const waitedMs = Math.max(nowMs - sinceMs, 1);
  const long = waitedMs / LONG_WAIT_MS;
  const ageing = 1 + long * long * long * long;
  return (waitedMs * ageing) / (work * work * work);
}

/** Work as the order counts it, ms: a heavy prompt's by the time that is left to begin with it. */
export function weighedWorkMs(ticket: Ticket, nowMs: f64): f64 {
  const slackMs = ticket.lateMs - nowMs;
  if (slackMs == Infinity) return ticket.workMs;
  if (slackMs < 0) return ticket.workMs * (nowMs < ticket.freeMs ? LATE_WORK : 1);
  return ticket.workMs * Math.cbrt((LEAST_SLACK_MS + slackMs) / PLAIN_SLACK_MS);
}

/** Priority, below all others where the goal can't be met any more. */
@inline
export function effectivePriority(ticket: Ticket, nowMs: f64): i32 {
  return nowMs > ticket.goalMs ? GOAL_MISSED + ticket.priority : ticket.priority;
}
