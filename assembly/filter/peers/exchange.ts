import { equalsText, text } from "../../bytes";
import { HeaderMap, getHeader } from "../../host/headers";
import { outLen, outPtr } from "../../host/memory";
import { setEffectiveContext } from "../../host/stream";
import { Next } from "../../peers/held";
import { missingShare } from "../../peers/merge";
import { Head } from "../../peers/head";
import { mix } from "../../prefix/hash";
import { CAS_ATTEMPTS } from "../../state/layout";
import { noteCasGaveUp } from "../../state/record";
import { RowView } from "../../state/rowview";
import { Decision } from "../choice/decision";
import { Delivery } from "./delivery";
import { PeerCalls } from "./peercalls";
import { Core } from "../core";
import { OwnName } from "./ownname";
import { PeerTables } from "./peertables";
import { TableCopy } from "./tablecopy";
import { TICK_MS, Wish } from "../ticker";
import { UpdateWriter } from "./update";

const STATUS = text(":status");
const OK = text("200");
const CONFLICT = text("409");

/** Something is said at least this often, so that silence means absence well before peers/merge.ts' UNHEARD_MS. */
const ALIVE_MS: f64 = 250;

/** While requests are held, another one that is next is told this soon, ms: well within what a turn waits for … */
const HELD_MS: f64 = 10;
/** … and the same one this often: twice before others no longer go by it (CURRENT_MS of admission/turn.ts). */
const HELD_AGAIN_MS: f64 = 40;

/** A prompt with so much to compute is told whatever the gap: it keeps a server busy for many gaps, and so bounds itself. */
const AT_ONCE_TOKENS: f64 = 1024;

/**
 * Tells other gateways what this one does: at once when a request with much to compute is placed, at most once in
 * `peers.gap_ms`; else with the next message, at latest after ALIVE_MS. Any worker may send: the outbox makes it one voice.
 */
export class Exchange {
  private calls: PeerCalls;
  /** A placement of this worker's waits for the gap to pass. */
  private isWaiting: bool = false;
  private name: OwnName;
  private update: UpdateWriter;
  private delivery: Delivery;
  /** Share of the other gateways that isn't heard, 0..1. */
  missing: f64 = 0;
  /** Who was next of those held here when that was last told (`nextOf`). */
  private nextTold: u64 = 0;
  readonly copy: TableCopy;

  constructor(
    private core: Core,
    private peers: PeerTables,
  ) {
    const calls = new PeerCalls(core.config, peers.members);
    this.calls = calls;
    const name = new OwnName(peers.outbox);
    this.name = name;
    this.delivery = new Delivery(core, peers, calls, name);
    this.update = new UpdateWriter(core, peers);
    this.copy = new TableCopy(core, calls, peers);
  }

  /** Gateways besides this one. */
  get others(): i32 {
    return this.calls.members.others(this.peers.outbox.self);
  }

  /**
   * A request was sent to a host.
   * @param known deepest boundary that the host was known to have, −1 for none
   * @param context the stream's id, which host calls act on
   */
  placed(d: Decision, slot: i32, known: i32, context: u32, nowMs: f64): void {
    if (this.calls.members.count == 0) return;
    const size = this.update.describe(d, slot, known);
    const peers = this.core.config.peers;
    const uncached = d.promptTokens - d.cachedTokens;
    const isUrgent = uncached >= <f64>peers.pushTokens;
    const outbox = this.peers.outbox;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      if (!outbox.open()) return;
      const isRoom = size == 0 || outbox.append(this.update.placement, size);
      const isFree = uncached >= AT_ONCE_TOKENS || this.gapMs(nowMs) <= 0;
      if (!isRoom || (isUrgent && isFree)) {
        const length = this.update.write(nowMs);
        if (!isRoom) outbox.append(this.update.placement, size);
        if (!outbox.commit()) continue;
        setEffectiveContext(this.core.id);
        this.delivery.tell(this.update.at, length, nowMs);
        setEffectiveContext(context);
        return;
      }
      if (size > 0 && !outbox.commit()) continue;
      if (isUrgent) this.wait(this.gapMs(nowMs));
      return;
    }
    noteCasGaveUp();
  }

  /** A host has stored an answer, which requests will ask for: told with the next message. */
  stored(tag: u64, slot: i32): void {
    if (this.calls.members.count == 0) return;
    const size = this.update.describeAnswer(tag, slot);
    const outbox = this.peers.outbox;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      // Where there is no more room others won't know of it: the message that makes room is a placement's.
      if (!outbox.open() || !outbox.append(this.update.placement, size) || outbox.commit()) return;
    }
    noteCasGaveUp();
  }

  /** A request that was told at once has its first token, or left its host: that is told as soon. */
  progressed(uncachedTokens: f64, context: u32, nowMs: f64): void {
    if (this.calls.members.count == 0 || uncachedTokens < <f64>this.core.config.peers.pushTokens)
      return;
    if (!this.peers.outbox.open()) return;
    const leftMs = this.gapMs(nowMs);
    setEffectiveContext(this.core.id);
    if (leftMs > 0 || !this.push(nowMs)) this.wait(leftMs);
    setEffectiveContext(context);
  }

  /**
   * A request is counted where it would go: says so at once.
   * @returns the message's number, 0 where none could be sent
   */
  propose(context: u32, nowMs: f64): u32 {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      if (!this.peers.outbox.open()) return 0;
      setEffectiveContext(this.core.id);
      const isTold = this.push(nowMs);
      setEffectiveContext(context);
      if (isTold) return Head.sequence(this.update.at);
    }
    noteCasGaveUp();
    return 0;
  }

  /** Whether all who were told with a message have answered, and what each had said until then has come here. */
  isAnswered(sequence: u32): bool {
    const members = this.calls.members;
    if (members.isOut(sequence)) return false;
    const loads = this.core.fleet.peerLoads;
    for (let i = 0; i < members.count; i++) {
      const name = members.name(i);
      if (name != 0 && !loads.hasHeard(name, members.sequence(i))) return false;
    }
    return true;
  }

  /** Requests are held: who is next is said with the next message, or soon. */
  held(nowMs: f64): void {
    const outbox = this.peers.outbox;
    if (this.calls.members.count == 0 || this.isWaiting || !outbox.open()) return;
    const next = nextOf(this.core.fleet.row.bytes);
    const sinceMs = nowMs - outbox.pushedMs;
    const isSame = next == this.nextTold;
    if (isSame && (next == 0 || (sinceMs >= 0 && sinceMs < HELD_AGAIN_MS))) return;
    this.nextTold = next;
    this.wait(sinceMs < 0 ? 1 : Math.max(HELD_MS - sinceMs, this.gapMs(nowMs)));
  }

  /** Time has passed: what waited may go. */
  tick(nowMs: f64): void {
    if (!this.isWaiting) return;
    const outbox = this.peers.outbox;
    if (!outbox.open()) {
      this.rest();
      return;
    }
    const leftMs = this.gapMs(nowMs);
    if (leftMs > 0) this.wait(leftMs);
    else if (this.push(nowMs)) this.rest();
  }

  /** The slow tick: says that this gateway is here, and looks who else is. */
  slowTick(nowMs: f64): void {
    const outbox = this.peers.outbox;
    const members = this.calls.members;
    members.refresh();
    members.expire(nowMs, <f64>this.core.config.peers.timeoutMs);
    if (!outbox.open()) this.name.draw(nowMs);
    this.copy.tick(nowMs);
    const silentMs = nowMs - outbox.pushedMs;
    if (members.count > 0 && (silentMs >= ALIVE_MS || silentMs < 0)) this.push(nowMs);
    const heard = this.core.fleet.peerLoads.believed;
    this.core.fleet.peerLoads.takeTurns(outbox.gateway);
    const others = this.others;
    const missing = missingShare(others, heard);
    this.missing = others > 0 ? missing : 0;
    this.core.decider.setMissing(missing, others);
  }

  /** The answer, or failure, of a call; false where it wasn't one of these. */
  answered(token: u32, headerCount: i32, bodySize: i32, nowMs: f64): bool {
    const isRead = headerCount > 0 && getHeader(HeaderMap.CallResponse, STATUS);
    const isOk = isRead && equalsText(outPtr, outLen, OK);
    // It came before, if its answer did not: as good as taken.
    const isKnown = isRead && equalsText(outPtr, outLen, CONFLICT);
    if (this.copy.answered(token, isOk, bodySize, nowMs)) return true;
    return this.delivery.answered(token, isOk, isKnown, bodySize, nowMs);
  }

  /** Ms that a message must still wait for; 0, too, where another worker sent one since this callback began. */
  private gapMs(nowMs: f64): f64 {
    const passedMs = nowMs - this.peers.outbox.pushedMs;
    return passedMs < 0 ? 0 : <f64>this.core.config.peers.gapMs - passedMs;
  }

  private wait(ms: f64): void {
    this.isWaiting = true;
    const periodMs = <u32>Math.ceil(Math.max(ms, 1));
    this.core.ticker.want(Wish.Exchange, min(periodMs, TICK_MS));
  }

  private rest(): void {
    this.isWaiting = false;
    this.core.ticker.want(Wish.Exchange, TICK_MS);
  }

  /** Sends what is new, unless another worker just did. */
  private push(nowMs: f64): bool {
    const length = this.update.write(nowMs);
    if (!this.peers.outbox.commit()) return false;
    this.delivery.tell(this.update.at, length, nowMs);
    return true;
  }
}

/** Differs where another request is next of those that a worker holds, or one was let go; 0 where none contends for room. */
function nextOf(row: usize): u64 {
  if (RowView.next(row) == Next.Nobody) return 0;
  const since = reinterpret<u64>(RowView.nextSinceMs(row));
  const letGo = reinterpret<u64>(RowView.letGoMs(row));
  return mix(since, letGo + <u64>RowView.nextPriority(row));
}
