import { RequestReader } from "../body/request";
import { Room } from "../admission/room";
import { Config } from "../config/config";
import { Candidates } from "../policy/candidates";
import { order } from "../policy/order";
import { Others } from "../policy/others";
import { price } from "../policy/price";
import { Reason } from "../policy/reason";
import { RequestCost } from "../policy/request";
import { Weights } from "../policy/weights";
import { MAX_ENTRIES } from "../prefix/chain";
import { mix } from "../prefix/hash";
import { Decision } from "./decision";
import { Fleet } from "./fleet";
import { Health } from "./health";
import { HeavyRoom } from "./heavyroom";
import { Identity } from "./identity";
import { Renewals } from "./renewals";
import { View } from "./view";

/** Of what can't be read of a prompt that goes on from what its host knows, this share is expected in the host's cache. */
const UNREAD_CACHED_SHARE: f64 = 0.8;
/** Speeds that differ by more than this ratio differ clearly. */
const CLEARLY: f64 = 1.1;
/** System, user, assistant, user: from so many messages on a prompt holds an earlier turn. */
const CONTINUED_MESSAGES: u32 = 4;
/** First tokens later than this are not only slow, ms. */
const OVERDUE_MS: f64 = 10000;
/** Price of the last host in a gateway's own order, as a share of prefill ms. */
const TURN_WEIGHT: f64 = 0.2;
/** Uses of caches are entered this often, ms: a cache turns over within minutes. */
const RENEWALS_MS: f64 = 500;
/** Weight of one request in the running means, about the last fifty. */
const MEAN_WEIGHT: f64 = 0.02;

/** From what was read to a list of hosts. One per root context. */
export class Decider {
  readonly candidates: Candidates = new Candidates();
  readonly view: View;
  readonly renewals: Renewals;
  private identity: Identity;
  private request: RequestCost = new RequestCost();
  private weights: Weights = new Weights();
  /** Running means over this worker's requests: prefill ms at the priors, and the share of prompts that was cached. */
  private meanWorkMs: f64 = 0;
  private reuseShare: f64 = 0;
  /** Spreads what has no key; also picks which ancestors are renewed. */
  private counter: u64 = 0;
  private rooms: HeavyRoom = new HeavyRoom();
  private congested: bool = false;
  private others: Others = new Others();
  /** Share of the other gateways that isn't heard, 0..1; NaN where they aren't to be heard. */
  private missing: f64 = NaN;
  private enteredMs: f64 = 0;
  /** Hosts that the last request could have gone to. */
  usableHosts: i32 = 0;

  constructor(
    private config: Config,
    private fleet: Fleet,
    health: Health,
  ) {
    const view = new View(config, fleet, health);
    this.view = view;
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
    if (d.choice.count > 0) this.learnMeans(d);
  }

  /** Sets what share of the other gateways is not heard, 0..1: so much of a new conversation's home is left. */
  setMissing(share: f64): void {
    this.missing = share;
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
    this.rooms.learn(<f64>this.config.admission.heavyPromptTokens);
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
    for (let i = 0; i < d.chainLength; i++) unchecked((tokens[i] = this.tokensAt(d, reader, i)));
  }

  private choose(d: Decision, reader: RequestReader | null, nowMs: f64): void {
    this.fleet.look(nowMs);
    this.view.meanWorkMs = this.meanWorkMs;
    this.view.caches.setClocks();
    const usable = this.view.fill(this.candidates, d.modelHash, nowMs);
    this.usableHosts = usable;
    if (usable == 0) {
      d.choice.count = 0;
      if (d.readable) d.reason = Reason.Cold;
      return;
    }
    const r = this.request;
    this.locate(d, reader, r);
    r.promptTokens = d.promptTokens;
    r.outputTokens = d.outputTokens;
    r.key = d.tieKey != 0 ? d.tieKey : mix(this.counter, <u64>nowMs);
    r.speedFactor = this.fleet.speeds.medianPrefill;
    r.meanWorkMs = this.meanWorkMs;
    r.reuseShare = this.reuseShare;
    this.others.note(this.candidates);
    this.weights.agreement = isNaN(this.missing)
      ? this.others.agreement(this.candidates)
      : this.missing;
    price(this.candidates, r, this.weights);
    this.congested = this.view.isCongested(this.candidates);
    if (this.view.isCrowded) this.rooms.keep(this.candidates, d, this.view);
    order(this.candidates, 1 + this.config.routing.fallbacks, d.choice);
    this.explain(d, r);
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

  /** Running means, from what a request was expected to cost. */
  private learnMeans(d: Decision): void {
    const tokens = Math.max(d.promptTokens - d.cachedTokens, 0);
    const workMs = tokens * this.weights.prefillMsPerToken;
    this.rooms.note(tokens);
    this.meanWorkMs += (workMs - this.meanWorkMs) * MEAN_WEIGHT;
    if (d.promptTokens > 0) {
      this.reuseShare += (d.cachedTokens / d.promptTokens - this.reuseShare) * MEAN_WEIGHT;
    }
  }

  /** What each host has cached of this request, and where its session is. */
  private locate(d: Decision, reader: RequestReader | null, r: RequestCost): void {
    const locations = this.fleet.locations;
    const c = this.candidates;
    r.sharedTokens = 0;
    r.forks = 0;
    if (reader && d.readable) {
      d.chainLength = reader.chain.length;
      d.headLength = reader.chain.within(reader.facts.headBytes);
      d.isContinued = reader.chain.messageCount >= CONTINUED_MESSAGES;
      d.nonceSkipped = reader.facts.nonceSkipped;
      memory.copy(
        changetype<usize>(d.chain),
        changetype<usize>(reader.chain.ids),
        d.chainLength << 3,
      );
    }
    // A named session goes on too, if not from earlier turns then with later ones.
    r.isContinued = d.hasSession || d.isContinued;
    const length = d.chainLength;
    locations.fetch(d.chain, length);
    const slot = d.conversationTag != 0 ? locations.find(d.conversationTag) : -1;
    r.knownSlot = slot >= 0 && c.usable[slot] ? slot : -1;
    r.isSession = d.hasSession && r.knownSlot >= 0;
    d.isNew = slot < 0;
    locations.match(d.chain, length, slot < 0 ? -1 : guess(locations.foundLength, length));
    // Where the conversation is, in the least loaded place, nothing that others have could be worth more.
    if (slot >= 0 && !this.isBest(r.knownSlot)) locations.matchRest(d.chain);
    if (length == 0) {
      if (r.knownSlot >= 0) c.cachedTokens[r.knownSlot] = d.promptTokens * UNREAD_CACHED_SHARE;
      return;
    }
    // A nonce ahead of the prompt spoils the engine's cache whatever the chain says: the conversation only stays in ties.
    if (d.nonceSkipped) return;
    for (let slot = 0; slot < c.count; slot++) {
      const depth = unchecked(locations.depth[slot]);
      if (unchecked(c.usable[slot]) && depth >= 0) {
        unchecked((c.cachedTokens[slot] = this.cachedUpTo(d, reader, depth)));
      }
    }
    if (locations.deepest >= 0) {
      r.sharedTokens = this.cachedUpTo(d, reader, locations.deepest);
      r.forks = <f64>locations.forks;
      if (r.knownSlot < 0 && this.isOwn(d, r)) r.knownSlot = this.deepestHost();
    }
  }

  /**
   * Whether the deepest known prefix is taken to be this conversation's own: nobody else went on from it yet. If it is no more
   * than the head that others may share, a session whose name is new, a later turn, and who comes while the other is still being
   * served know better: their place is where any gateway would look for them.
   */
  private isOwn(d: Decision, r: RequestCost): bool {
    if (r.forks > 0 || d.hasSession) return false;
    if (this.fleet.locations.deepest >= d.headLength) return true;
    const host = this.deepestHost();
    return !d.isContinued && host >= 0 && unchecked(this.candidates.inFlight[host]) == 0;
  }

  /** Whether a host has the deepest boundary, and no other is less loaded by any measure. */
  private isBest(best: i32): bool {
    const c = this.candidates;
    const locations = this.fleet.locations;
    // Nothing found yet says nothing: the prompt may differ at its end only.
    if (best < 0 || locations.deepest < 0) return false;
    if (locations.depth[best] != locations.deepest) return false;
    const pendingMs = unchecked(c.pendingMs[best]);
    const load = this.loadOf(best);
    const speed = unchecked(c.prefillFactor[best]) / CLEARLY;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot]) || slot == best) continue;
      if (unchecked(c.pendingMs[slot]) < pendingMs || this.loadOf(slot) < load) return false;
      if (unchecked(c.prefillFactor[slot]) < speed) return false;
    }
    return true;
  }

  /** Requests at a host, own and others'; a tenth of a request per share of KV or GPU in use. */
  private loadOf(slot: i32): f64 {
    const c = this.candidates;
    const fresh = unchecked(c.freshness[slot]);
    const reported = or0(unchecked(c.running[slot])) + or0(unchecked(c.waiting[slot]));
    const shares = or0(unchecked(c.kvUsage[slot])) + or0(unchecked(c.gpuUtilization[slot]));
    return reported * fresh + unchecked(c.inFlight[slot]) + (shares * fresh) / 10;
  }

  /** Usable host that holds the deepest known boundary, −1 for none. */
  private deepestHost(): i32 {
    const locations = this.fleet.locations;
    for (let slot = 0; slot < this.candidates.count; slot++) {
      const deepest = unchecked(locations.depth[slot]) == locations.deepest;
      if (deepest && unchecked(this.candidates.usable[slot])) return slot;
    }
    return -1;
  }

  /** Prompt tokens that a host has which knows the prompt up to a boundary of the chain. */
  private cachedUpTo(d: Decision, reader: RequestReader | null, index: i32): f64 {
    const tokens = this.tokensAt(d, reader, index);
    // It knows all that was read of a prompt too long to be read whole: what it doesn't know is one turn, like others'.
    if (d.complete || index < d.chainLength - 1) return tokens;
    const unread = d.promptTokens - tokens;
    const turn = this.meanWorkMs / this.weights.prefillMsPerToken;
    return d.promptTokens - Math.min(turn, unread * (1 - UNREAD_CACHED_SHARE));
  }

  /** Prompt tokens up to a boundary of the chain. */
  private tokensAt(d: Decision, reader: RequestReader | null, index: i32): f64 {
    if (!reader) {
      const kept = d.boundaryTokens;
      return kept ? unchecked(kept[index]) : 0;
    }
    const chain = reader.chain;
    const bytes = <f64>unchecked(chain.bytes[index]);
    const fixed = <f64>unchecked(chain.fixedTokens[index]);
    const textTokens = d.promptTokens - d.fixedTokens;
    const share = d.promptBytes > 0 ? bytes / d.promptBytes : 0;
    return Math.min(textTokens * share + fixed, d.promptTokens);
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
    let most: f64 = 0;
    for (let i = 0; i < c.count; i++) {
      const cached = unchecked(c.cachedTokens[i]);
      if (unchecked(c.usable[i]) && cached > most) most = cached;
    }
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

/** Where to look first for the end of the conversation's last request. A length of 255 is that or more: two messages ago, then. */
function guess(foundLength: i32, length: i32): i32 {
  if (foundLength == 0) return length - 1;
  return (foundLength < 255 ? min(foundLength, length) : max(length - 2, 1)) - 1;
}

@inline
function or0(value: f64): f64 {
  return isNaN(value) ? 0 : value;
}
