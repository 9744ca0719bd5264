import { RequestReader } from "../../body/request";
import { Room } from "../../admission/room";
import { Config } from "../../config/config";
import { Candidates } from "../../policy/candidates";
import { order } from "../../policy/order";
import { Others } from "../../policy/others";
import { Overview } from "../../policy/overview";
import { price } from "../../policy/price";
import { Reason } from "../../policy/reason";
import { RequestCost } from "../../policy/request";
import { Weights } from "../../policy/weights";
import { MAX_ENTRIES } from "../../prefix/chain";
import { mix } from "../../prefix/hash";
import { Crowd } from "./crowd";
import { Absent } from "../fleet/absent";
import { Decision } from "./decision";
import { Fleet } from "../fleet/fleet";
import { Health } from "../fleet/health";
import { HeavyRoom } from "./heavyroom";
import { Identity } from "../request/identity";
import { Locator } from "./locate";
import { Openings } from "./openings";
import { Renewals } from "./renewals";
import { View } from "./view";

/** First tokens later than this are not only slow, ms. */
const OVERDUE_MS: f64 = 10000;
/**
 * Price of the last host in a gateway's own order, as a share of prefill ms (of 100 at most): so prompts that several gateways get
 * within one message's way go to different hosts (Azure code, 16 gateways before 64 servers: p50 / p90 141 / 435 ms with 0.2).
 */
const TURN_WEIGHT: f64 = 0.5;
/** Uses of caches are entered this often, ms: a cache turns over within minutes. */
const RENEWALS_MS: f64 = 500;
/** Where only answers tell which hosts there are, one decision in so many is left to Envoy, who knows others. */
const UNKNOWN_EVERY: u64 = 4;
/** Weight of one request in the running means, about the last fifty. */
const MEAN_WEIGHT: f64 = 0.02;

/** From what was read to a list of hosts. One per root context. */
export class Decider {
  readonly candidates: Candidates;
  readonly view: View;
  readonly renewals: Renewals;
  readonly absent: Absent;
  readonly crowd: Crowd = new Crowd();
  private identity: Identity;
  private locator: Locator;
  private request: RequestCost = new RequestCost();
  private overview: Overview;
  private weights: Weights = new Weights();
  /** Running means over this worker's requests, and those that other gateways told it of: prefill ms at the priors, and the share of prompts that was cached. */
  private meanWorkMs: f64 = 0;
  private reuseShare: f64 = 0;
  /** Spreads what has no key; also picks which ancestors are renewed. */
  private counter: u64 = 0;
  private rooms: HeavyRoom;
  private openings: Openings;
  private congested: bool = false;
  private others: Others = new Others();
  /** Share of the other gateways that isn't heard, 0..1; 1 where they aren't to be heard. */
  private missing: f64 = 1;
  private enteredMs: f64 = 0;
  /** Hosts that the last request could have gone to. */
  usableHosts: i32 = 0;

  constructor(
    private config: Config,
    private fleet: Fleet,
    health: Health,
  ) {
    const candidates = new Candidates();
    this.candidates = candidates;
    const overview = new Overview();
    this.overview = overview;
    this.locator = new Locator(fleet, candidates, overview);
    const view = new View(config, fleet, health);
    this.view = view;
    const openings = new Openings(config, fleet, view);
    this.openings = openings;
    this.rooms = new HeavyRoom(config, view, openings);
    this.absent = new Absent(fleet.hosts);
    this.renewals = new Renewals(fleet, view);
    this.identity = new Identity(config, fleet);
    const cost = config.cost;
    const w = this.weights;
    w.prefillMsPerToken = cost.prefillMsPerToken;
    w.decodeStepMs = cost.decodeStepMs;
    w.decodeMsPerSequence = cost.decodeMsPerSequence;
    w.othersWait = cost.othersWaitWeight;
    w.eviction = cost.evictionWeight;
    w.kvPressure = cost.kvPressureWeight;
    w.gpuPressure = cost.gpuPressureWeight;
    w.tieMs = cost.tieMs;
    w.home = cost.homeWeight;
  }

  /**
   * Decides for a request whose body was read (`reader`) or can't be (null); fills `d` and notes the placement in the
   * location table. `d.choice.count` 0: no host is usable and Envoy decides.
   */
  decide(d: Decision, reader: RequestReader | null, nowMs: f64): void {
    this.counter++;
    if (reader) this.identity.read(d, reader);
    else this.identity.unread(d);
    this.identity.estimate(d, nowMs);
    this.choose(d, reader, nowMs);
    if (d.choice.count == 0) return;
    const uncachedTokens = Math.max(d.promptTokens - d.cachedTokens, 0);
    this.learnMeans(uncachedTokens, d.cachedTokens);
    this.rooms.noteWork(uncachedTokens, d.workMs(this.config.cost.decodeMsPerSequence));
  }

  /**
   * Sets what share of the other gateways is not heard, 0..1: so much of a new conversation's home is left.
   * @param others gateways that should be heard
   */
  setMissing(share: f64, others: i32): void {
    this.missing = share;
    this.view.unheard.weight = others > 0 ? Math.min(share * <f64>others, 1) : 0;
    this.weights.turn = TURN_WEIGHT * (1 - share);
  }

  /** Decides anew for a request that `keep` prepared. */
  decideAgain(d: Decision, nowMs: f64): void {
    this.choose(d, null, nowMs);
  }

  /** Whether a host has room for the request that was decided for last. */
  hasRoom(slot: i32): bool {
    return unchecked(this.candidates.room[slot]) != Room.None;
  }

  /**
   * Whether every host would let a request wait, as of the last decision. While one wouldn't, requests go by price, even to a
   * host that is busy: it is busy with what the others are kept free of, or has what they would have to compute.
   */
  get isCongested(): bool {
    return this.congested;
  }

  /** At how many hosts the request that was decided for last could begin now. */
  openingsAt(nowMs: f64): i32 {
    return this.openings.count(this.candidates, this.request.outputTokens, nowMs);
  }

  /** For the request that was decided for last: the host of its first token soonest comes first, whatever its whole price. */
  preferSoonest(d: Decision, nowMs: f64): void {
    const slots = d.choice.slots;
    const soonest = this.openings.soonest(this.candidates, slots[0], nowMs);
    if (soonest == slots[0]) return;
    let at = 0;
    while (at < d.choice.count - 1 && slots[at] != soonest) at++;
    for (; at > 0; at--) slots[at] = slots[at - 1];
    slots[0] = soonest;
    this.explain(d, this.request);
  }

  /** Whether a host is known to have nothing to do. */
  isIdle(slot: i32): bool {
    return this.view.isIdle(this.candidates, slot);
  }

  /** Whether a host has sent no first token for so long that a client who leaves without one speaks against it. */
  isOverdue(slot: i32, nowMs: f64): bool {
    return this.view.overdueMs(this.candidates, slot, nowMs) > OVERDUE_MS;
  }

  /** Draws conclusions from what came: at ticks. */
  tick(nowMs: f64): void {
    this.rooms.learn();
    if (Math.abs(nowMs - this.enteredMs) >= RENEWALS_MS) {
      this.enteredMs = nowMs;
      this.renewals.enter();
    }
    this.view.refresh();
  }

  /** Keeps of the body what deciding anew takes. */
  keep(d: Decision, reader: RequestReader): void {
    let tokens = d.boundaryTokens;
    if (!tokens) {
      tokens = new StaticArray<f64>(MAX_ENTRIES);
      d.boundaryTokens = tokens;
    }
    for (let i = 0; i < d.chainLength; i++)
      unchecked((tokens[i] = this.locator.tokensAt(d, reader, i)));
  }

  private choose(d: Decision, reader: RequestReader | null, nowMs: f64): void {
    this.fleet.look(nowMs);
    this.view.meanWorkMs = this.meanWorkMs;
    this.view.caches.setClocks();
    const usable = this.view.fill(this.candidates, d.modelHash, nowMs);
    this.usableHosts = usable;
    this.absent.apply(this.candidates, usable, d.askedHash, nowMs);
    if (usable == 0) {
      d.choice.count = 0;
      if (d.readable) d.reason = Reason.Cold;
      return;
    }
    if (d.keeper >= 0) this.candidates.putFirst(d.keeper);
    const overview = this.overview;
    overview.take(this.candidates);
    const r = this.request;
    const turnTokens = this.meanWorkMs / this.weights.prefillMsPerToken;
    this.locator.locate(d, reader, r, turnTokens);
    r.crowd = <f64>this.crowd.beyondUsual(d.key);
    r.promptTokens = d.promptTokens;
    r.outputTokens = d.outputTokens;
    r.key = d.tieKey != 0 ? d.tieKey : mix(this.counter, <u64>nowMs);
    r.speedFactor = this.fleet.speeds.medianPrefill;
    r.meanWorkMs = this.meanWorkMs;
    r.reuseShare = this.reuseShare;
    this.others.note(overview);
    const missing = this.missing;
    this.weights.agreement = missing > 0 ? missing * this.others.agreement(overview) : 0;
    price(this.candidates, overview, r, this.weights);
    this.congested = this.openings.areNone(this.candidates, d.outputTokens, nowMs);
    this.rooms.keep(this.candidates, d, usable, nowMs);
    order(this.candidates, 1 + this.config.routing.fallbacks, d.choice);
    this.explain(d, r);
    if (!this.fleet.hosts.areNamed && this.isForUnknown(d, r)) d.choice.count = 0;
  }

  /**
   * Where only answers tell which hosts there are: whether Envoy is to choose for a request that no cache draws anywhere. If it
   * never did, nothing would ever be sent to, and so come from, a host that isn't known yet.
   */
  private isForUnknown(d: Decision, r: RequestCost): bool {
    const isDrawn = d.cachedTokens > 0 || r.knownSlot == d.choice.slots[0] || d.keeper >= 0;
    return !isDrawn && this.counter % UNKNOWN_EVERY == 0;
  }

  /**
   * Notes that the request goes to a host, in the location table; other workers see it once it is counted there.
   * @param known deepest boundary that the host is known to have, −1 for none
   */
  place(d: Decision, slot: i32, known: i32, nowMs: f64): void {
    // Of what can't be read nothing is known, so nothing is noted.
    if (slot >= this.fleet.hosts.count || !d.readable) return;
    const locations = this.fleet.locations;
    const random = <u32>(mix(this.counter, d.key) >>> 32);
    if (known >= 0 && d.cachedTokens > 0) {
      const age = unchecked(locations.age[slot]) * unchecked(locations.capacity[slot]);
      const clock = unchecked(locations.clock[slot]);
      this.renewals.note(slot, clock - age, clock, d.cachedTokens);
    }
    locations.record(d.chain, d.chainLength, slot, known, d.isNew, random);
    if (d.conversationTag != 0) locations.move(d.conversationTag, slot, d.chainLength);
    if (d.anyModelTag != 0) locations.move(d.anyModelTag, slot, d.chainLength);
    this.fleet.publishLocations(nowMs);
  }

  /** Takes a placement back: the host did not serve the request. */
  displace(d: Decision, slot: i32): void {
    this.fleet.locations.forget(d.chain, d.chainLength, slot);
  }

  /** Running means, from what a request, or one of another gateway's, was expected to cost. */
  learnMeans(uncachedTokens: f64, cachedTokens: f64): void {
    const workMs = uncachedTokens * this.weights.prefillMsPerToken;
    this.rooms.note(uncachedTokens);
    this.meanWorkMs += (workMs - this.meanWorkMs) * MEAN_WEIGHT;
    const tokens = uncachedTokens + cachedTokens;
    if (tokens > 0) this.reuseShare += (cachedTokens / tokens - this.reuseShare) * MEAN_WEIGHT;
  }

  /** Reason and figures of the choice. */
  private explain(d: Decision, r: RequestCost): void {
    if (d.choice.count == 0) return;
    const c = this.candidates;
    const slot = d.choice.slots[0];
    d.cachedTokens = c.cachedTokens[slot];
    d.cachedAge = d.cachedTokens > 0 ? this.fleet.locations.age[slot] : 0;
    d.waitMs = c.waitMs[slot];
    d.prefillMs = c.prefillMs[slot];
    d.costMs = c.costMs[slot];
    d.nextCostMs = d.choice.count > 1 ? c.costMs[d.choice.slots[1]] : NaN;
    d.batch = this.batchOf(slot);
    if (!d.readable) return;
    const most = this.locator.mostCached;
    if (r.knownSlot >= 0 && (d.hasSession || most <= 0)) {
      d.reason = r.knownSlot != slot ? Reason.Load : d.hasSession ? Reason.Session : Reason.Prefix;
    } else if (most <= 0) d.reason = Reason.Cold;
    else d.reason = d.cachedTokens >= most ? Reason.Prefix : Reason.Load;
  }

  /** Sequences that a request would decode beside, as the price saw them. */
  private batchOf(slot: i32): f64 {
    const running = this.candidates.running[slot];
    const own = this.candidates.inFlight[slot];
    return own + or0(running) * this.candidates.freshness[slot];
  }
}

@inline
function or0(value: f64): f64 {
  return isNaN(value) ? 0 : value;
}
