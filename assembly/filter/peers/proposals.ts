import { RequestReader } from "../../body/request";
import { RoutingMode } from "../../config/config";
import { continueRequest, setEffectiveContext } from "../../host/stream";
import { PeerView } from "../../state/peerview";
import { RowView } from "../../state/rowview";
import { Decision } from "../choice/decision";
import { Core } from "../core";
import { Dispatcher } from "../request/dispatch";
import { Phase, Stream } from "../stream";
import { TICK_MS, Wish } from "../ticker";
import { Peering } from "./peering";

/** Prompts with this much prefill are proposed before they go, ms: two of them at one server cost the second as long. */
const HEAVY_MS: f64 = 500;
/** A proposal holds its prompt for at most this share of its prefill; the first of the gateways to move for half of that. */
const HELD_SHARE: f64 = 0.02;
/** Who said nothing for this long has no proposal that others would wait for, ms. */
const CURRENT_MS: f64 = 500;
/** Tick while something is proposed. */
const PERIOD_MS: u32 = 1;
/** Most proposals of a worker at once, for each is decided anew at each tick. Where there are more, all servers are busy for long. */
const OPEN_MAX: i32 = 32;

/** A prompt that is counted where it would go, and held until others have said what they do. */
class Proposal {
  stream: Stream | null = null;
  startedMs: f64 = 0;
  /** Number of the message that told it. */
  sequence: u32 = 0;
  /** Whether it is known what the others proposed before they heard of this. */
  isAnswered: bool = false;
}

/**
 * Gateways that get heavy prompts at the same moment would send them to the same idle servers, each before it hears of the others.
 * So such a prompt is counted on its server and told, and held until all have answered. By then each of two gateways knows
 * what the other proposed, or that proposed knowing of this one's. Then it is decided for once more. Whose server is still the
 * best goes; the others one after the other, by name, and workers by number: so each knows where those before it went.
 */
export class Proposals {
  private open: Array<Proposal> = new Array<Proposal>();
  private free: Array<Proposal> = new Array<Proposal>();

  constructor(
    private core: Core,
    private dispatcher: Dispatcher,
    private peering: Peering,
  ) {}

  /** Whether what others decide now could change where a prompt should go, by more than waiting for that costs. */
  isWorth(d: Decision): bool {
    const heard = this.core.fleet.peerLoads.heard;
    if (heard == 0 || d.prefillMs < HEAVY_MS || this.open.length >= OPEN_MAX) return false;
    if (this.core.config.routing.mode != RoutingMode.Enforce || d.choice.count < 2) return false;
    // Another server becomes better if enough of them choose the same one, each with a prompt like this.
    return d.nextCostMs - d.costMs < d.prefillMs * <f64>heard;
  }

  /** Proposes a request that was just decided for, in its own callback; returns its phase: `Sent` where it can't be told. */
  propose(stream: Stream, reader: RequestReader, now: f64): Phase {
    const core = this.core;
    const row = core.fleet.row;
    row.propose();
    this.dispatcher.propose(stream, now);
    const sequence = this.peering.propose(stream.id, now);
    if (sequence == 0) {
      row.settle();
      this.dispatcher.withdraw(stream, now);
      return Phase.Sent;
    }
    core.stats.proposals.add(1);
    core.decider.keep(stream.decision, reader);
    const proposal = this.free.length > 0 ? this.free.pop() : new Proposal();
    proposal.stream = stream;
    proposal.startedMs = now;
    proposal.sequence = sequence;
    proposal.isAnswered = false;
    this.open.push(proposal);
    core.ticker.want(Wish.Proposals, PERIOD_MS);
    return Phase.Proposed;
  }

  /** Time passes, or something was heard: who may go goes. */
  tick(now: f64): void {
    if (this.open.length == 0) return;
    const core = this.core;
    core.fleet.inFlight.refreshAll(now);
    core.fleet.peerLoads.refresh(now);
    // In the order in which they came.
    let kept = 0;
    for (let i = 0; i < this.open.length; i++) {
      const proposal = this.open[i];
      if (!this.settle(proposal, now)) this.open[kept++] = proposal;
    }
    this.open.length = kept;
    if (kept == 0) core.ticker.want(Wish.Proposals, TICK_MS);
    setEffectiveContext(core.id);
  }

  /** Lets all go: nobody would come back to them. */
  settleAll(now: f64): void {
    for (let i = 0; i < this.open.length; i++) this.letGo(this.open[i], now);
    this.open.length = 0;
    setEffectiveContext(this.core.id);
  }

  /** A proposed request's client has gone. */
  abandon(stream: Stream, now: f64): void {
    for (let i = 0; i < this.open.length; i++) {
      const proposal = this.open[i];
      if (proposal.stream != stream) continue;
      this.open.splice(i, 1);
      this.take(proposal, now);
      this.core.fleet.row.publish(now);
      const d = stream.decision;
      d.choice.count = 0;
      this.peering.progressed(d.promptTokens - d.cachedTokens, stream.id, now);
      return;
    }
  }

  /** Decides once more, if it is time to; false: not yet. */
  private settle(proposal: Proposal, now: f64): bool {
    const stream = proposal.stream!;
    const heldMs = now - proposal.startedMs;
    const isOver = heldMs >= stream.decision.prefillMs * this.heldShare;
    if (!isOver && !proposal.isAnswered) {
      if (!this.peering.isAnswered(proposal.sequence)) return false;
      proposal.isAnswered = true;
    }
    const slot = stream.served.slot;
    this.dispatcher.withdraw(stream, now);
    this.core.decider.decideAgain(stream.decision, now);
    // Who stays where it was told to be surprises nobody.
    const isStaying = stream.decision.choice.count > 0 && stream.decision.choice.slots[0] == slot;
    if (!isOver && !isStaying && this.isAnyAhead(now)) {
      this.dispatcher.restore(stream, slot, now);
      return false;
    }
    if (isOver) this.core.stats.proposalsExpired.add(1);
    if (!isStaying) this.core.stats.proposalsMoved.add(1);
    this.letGo(proposal, now);
    return true;
  }

  /** For what share of its prefill a prompt is held here at most: by when those that move before this gateway have. */
  private get heldShare(): f64 {
    const peers = this.core.fleet.peerLoads;
    return HELD_SHARE * (0.5 + (0.5 * <f64>(peers.lower + 1)) / <f64>(peers.heard + 1));
  }

  /** Whether somebody who settles first has a proposal that isn't settled. */
  private isAnyAhead(now: f64): bool {
    const fleet = this.core.fleet;
    const peers = fleet.peerLoads;
    for (let i = 0, n = peers.recordCount; i < n; i++) {
      const at = peers.lowerThanOwn(i, CURRENT_MS, now);
      if (at == 0) continue;
      if (PeerView.proposed(at) != PeerView.settled(at) || PeerView.isTorn(at)) return true;
    }
    const workers = fleet.inFlight.workers;
    for (let i = 0; i < fleet.row.index; i++) {
      const row = workers.row(i);
      if (row == 0 || !workers.wroteWithin(i, CURRENT_MS, now)) continue;
      if (RowView.proposed(row) != RowView.settled(row)) return true;
    }
    return false;
  }

  /** Sends where it was decided for last. */
  private letGo(proposal: Proposal, now: f64): void {
    const stream = proposal.stream!;
    stream.decision.queuedMs += now - proposal.startedMs;
    this.take(proposal, now);
    if (!setEffectiveContext(stream.id)) return;
    stream.phase = Phase.Sent;
    this.dispatcher.dispatch(stream, now);
    continueRequest();
  }

  /** It is no longer a proposal: told with what is told next. */
  private take(proposal: Proposal, now: f64): void {
    this.dispatcher.withdraw(proposal.stream!, now);
    this.core.fleet.row.settle();
    proposal.stream = null;
    this.free.push(proposal);
  }
}
