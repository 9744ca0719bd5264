import { Limits, Load, Room, isIdle, roomAt } from "../../admission/room";
import { Config, MetricsSource } from "../../config/config";
import { Candidates } from "../../policy/candidates";
import { WAITING_TOKENS } from "../../policy/price";
import { HostRecord } from "../../state/hostrecord";
import { MAX_HOSTS } from "../../state/layout";
import { Caches } from "../fleet/caches";
import { Fleet } from "../fleet/fleet";
import { HostFacts } from "../fleet/hostfacts";
import { Health } from "../fleet/health";
import { Models } from "../fleet/models";
import { keepSpares } from "./spares";
import { Unheard } from "./unheard";

/** A server that joined later than the others, or restarted, takes its full share after this long, ms. */
const SLOW_START_MS: f64 = 10000;
/** Share that it takes at first. */
const SLOW_START_SHARE: f64 = 0.2;
/** Servers that joined within this time of the first start together, ms. */
const TOGETHER_MS: f64 = 2000;
/** Price of a server that reported before and has stopped to, in ties: those that report come first. One that never did is new. */
const LATE_TIES: f64 = 2;
/** What each request under way counts there besides its prefill, ms. */
const SLOW_START_REQUEST_MS: f64 = 50;

/** A host that owes answers may take this many times what its queue was expected to take, and so much longer, ms. */
const SILENCE_FACTOR: f64 = 2;
const SILENCE_MS: f64 = 1000;

/** Where no report that counts in full tells whether a host is at work, an answer no older than this does, ms. */
const AT_WORK_MS: f64 = 2000;

/** Fills the candidates of a choice from the shared tables. */
export class View {
  private models: Models;
  private facts: HostFacts;
  readonly caches: Caches;
  readonly unheard: Unheard;
  /** Ages from which a report loses weight, and has none, ms. */
  private freshMs: f64 = 0;
  private staleMs: f64 = 0;
  /** When the first of the servers joined, as of the last choice. */
  private firstJoinedMs: f64 = Infinity;
  private limits: Limits = new Limits();
  private load: Load = new Load();
  /** By slot: expected wait as admission counts it, ms; 0 where the speed isn't known. As of the last `fill`. */
  private waitMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** Prefill ms of a mean request at the priors: what one reported waiting request stands for. */
  meanWorkMs: f64 = 0;
  /** Whether requests are held: then those that were sent since a server's report count as waiting on top of it. */
  isHolding: bool = false;
  /** Whether some usable host had no room for some at the last `fill`. */
  isCrowded: bool = false;
  /** By slot: which report was seen last, and own requests without a first token when it was seen. */
  private seenMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  private waitingThen: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);

  constructor(
    private config: Config,
    private fleet: Fleet,
    private health: Health,
  ) {
    const facts = new HostFacts(fleet);
    this.facts = facts;
    this.models = new Models(fleet.states, facts);
    this.caches = new Caches(config, fleet);
    this.unheard = new Unheard(config, fleet);
    const limits = this.limits;
    limits.maxWaitMs = <f64>config.admission.maxWaitMs;
    limits.maxWaiting = <f64>config.admission.maxWaiting;
    limits.maxKvUsage = config.admission.maxKvUsage;
    limits.heavyShare = config.admission.heavyShare;
    const staleMs = <f64>config.metrics.staleAfterMs;
    this.staleMs = staleMs;
    this.freshMs = Math.min(2 * <f64>config.metrics.intervalMs, staleMs * 0.5);
  }

  /**
   * Everything but `cachedTokens`, for a request for a model (0: unknown). Call `caches.setClocks` before.
   * @returns how many hosts are usable
   */
  fill(c: Candidates, model: u64, nowMs: f64): i32 {
    const hosts = this.fleet.hosts;
    const inFlight = this.fleet.inFlight;
    const facts = this.facts;
    const caches = this.caches;
    let usable = 0;
    let firstJoinedMs: f64 = Infinity;
    const isScraped = this.config.metrics.source != MetricsSource.None;
    c.areAsked = isScraped;
    const lateMs = LATE_TIES * this.config.cost.tieMs;
    const gpuStaleMs = this.staleMs;
    const limited = this.config.admission.enabled;
    this.isCrowded = false;
    const count = hosts.count;
    c.count = count;
    facts.refresh(c);
    const restsUntilMs = facts.restsUntilMs;
    for (let slot = 0; slot < count; slot++) {
      const isQuiet = inFlight.isQuiet(slot);
      const joinedMs = unchecked(facts.joinedMs[slot]);
      if (isQuiet && nowMs < unchecked(restsUntilMs[slot]) && this.unheard.weight == 0) {
        // Most of hundreds of hosts: what the last choice was told of it holds, but for what a choice itself changes.
        usable++;
        if (joinedMs > 0 && joinedMs < firstJoinedMs) firstJoinedMs = joinedMs;
        unchecked((c.usable[slot] = 1));
        unchecked((c.room[slot] = <u8>Room.All));
        unchecked((c.cachedTokens[slot] = 0));
        unchecked((c.surchargeMs[slot] = 0));
        unchecked((c.fill[slot] = unchecked(caches.fills[slot])));
        continue;
      }
      const may = unchecked(facts.isSound[slot]) != 0 || this.passesLook(c, slot, nowMs);
      unchecked((c.usable[slot] = may ? 1 : 0));
      if (!may) continue;
      usable++;
      if (joinedMs > 0 && joinedMs < firstJoinedMs) firstJoinedMs = joinedMs;
      const sampleMs = unchecked(facts.sampleMs[slot]);
      const fresh = this.freshnessOf(sampleMs, nowMs);
      unchecked((c.cachedTokens[slot] = 0));
      unchecked((c.pendingMs[slot] = isQuiet ? 0 : inFlight.pendingMs(slot, nowMs)));
      unchecked((c.inFlight[slot] = isQuiet ? 0 : <f64>inFlight.total(slot)));
      const gpuSampleMs = unchecked(facts.gpuSampleMs[slot]);
      const isGpuKnown = gpuSampleMs != 0 && nowMs - gpuSampleMs <= gpuStaleMs;
      const gpuUtilization = isGpuKnown ? unchecked(facts.gpuUtilization[slot]) : NaN;
      unchecked((c.gpuUtilization[slot] = gpuUtilization));
      unchecked((c.freshness[slot] = fresh));
      unchecked((c.fill[slot] = unchecked(caches.fills[slot])));
      if (this.unheard.weight > 0) this.unheard.add(c, slot, nowMs);
      if (!isQuiet && this.deniesWork(slot, nowMs)) {
        // As long again as nobody was answered nobody may be.
        unchecked((c.pendingMs[slot] += this.fleet.account.silentMs(slot, nowMs)));
      }
      const room = limited ? this.room(c, slot, nowMs) : Room.All;
      if (room != Room.All) this.isCrowded = true;
      unchecked((c.room[slot] = <u8>room));
      const workMs =
        unchecked(c.pendingMs[slot]) + unchecked(c.inFlight[slot]) * SLOW_START_REQUEST_MS;
      const surchargeMs = this.slowStart(joinedMs, nowMs) * workMs;
      const isReporting = isScraped && sampleMs > 0;
      unchecked((c.surchargeMs[slot] = surchargeMs + (isReporting ? lateMs * (1 - fresh) : 0)));
      const rests = isQuiet && room == Room.All && !(unchecked(c.waiting[slot]) > 0);
      unchecked((restsUntilMs[slot] = rests ? this.agesAtMs(slot, fresh, isGpuKnown) : 0));
    }
    this.firstJoinedMs = firstJoinedMs;
    const left = model == 0 ? usable : usable - this.models.apply(c, model);
    if (facts.spares > 0) keepSpares(c, facts.isSpare);
    return left;
  }

  /** From when on what a host reported, or didn't, weighs less than it does now, ms; 0 if it fades already. */
  private agesAtMs(slot: i32, fresh: f64, isGpuKnown: bool): f64 {
    const facts = this.facts;
    if (!unchecked(facts.isSound[slot])) return 0;
    const sampleMs = unchecked(facts.sampleMs[slot]);
    if (sampleMs != 0 && fresh < 1) return 0;
    const reportMs = sampleMs != 0 ? sampleMs + this.freshMs : Infinity;
    const gpuMs = isGpuKnown ? unchecked(facts.gpuSampleMs[slot]) + this.staleMs : Infinity;
    return Math.min(reportMs, gpuMs);
  }

  /** Whether a host that was set aside, or isn't known to be well, may be used all the same. */
  private passesLook(c: Candidates, slot: i32, nowMs: f64): bool {
    const hosts = this.fleet.hosts;
    if (!hosts.isKnown(slot) || hosts.isUnhealthy(slot)) return false;
    const may = this.health.usable(slot, nowMs);
    this.facts.take(c, slot);
    return may;
  }

  /** Whether a host of the last `fill` is known to have nothing to do. */
  isIdle(c: Candidates, slot: i32): bool {
    this.describe(c, slot);
    return isIdle(this.load);
  }

  /**
   * Whether a host is at work, by a report after which none has failed to come or by what came from it within the last seconds,
   * on others than the one request in question: then it has reason to take no more.
   */
  isAtWork(slot: i32, nowMs: f64): bool {
    const record = this.fleet.states.at(slot);
    const isUpToDate = record.sampleMs > 0 && this.freshness(record, nowMs) == 1;
    if (isUpToDate) return record.running > 0 || record.waiting > 0;
    return this.fleet.inFlight.total(slot) > 1 && nowMs - record.learnedMs < AT_WORK_MS;
  }

  /** Whether the speed of a host has been learned, here or by another gateway. */
  isLearned(slot: i32): bool {
    if (this.fleet.states.at(slot).prefillFactor > 0) return true;
    return unchecked(this.fleet.peerLoads.speeds.prefillSamples[slot]) > 0;
  }

  /** Whether a host reports to have nothing to do, though requests were sent to it well before: they have got lost in it. */
  private deniesWork(slot: i32, nowMs: f64): bool {
    const silentMs = this.fleet.account.silentMs(slot, nowMs);
    if (silentMs < SILENCE_MS) return false;
    const record = this.fleet.states.at(slot);
    if (record.sampleMs < nowMs - silentMs / 2) return false;
    return record.running == 0 && record.waiting == 0;
  }

  /** By how much the first answers that a host owes are late, as far as streams tell, ms. */
  overdueMs(c: Candidates, slot: i32, nowMs: f64): f64 {
    const account = this.fleet.account;
    const workMs = account.queuedWorkMs(slot) + this.othersWorkMs(c, slot);
    return account.silentMs(slot, nowMs) - SILENCE_FACTOR * workMs - SILENCE_MS;
  }

  /** Prefill of what others have waiting at a host, as it reported, ms. */
  private othersWorkMs(c: Candidates, slot: i32): f64 {
    const others = unchecked(c.waiting[slot]) * unchecked(c.freshness[slot]);
    if (!(others > 0)) return 0;
    const leastMs = WAITING_TOKENS * this.config.cost.prefillMsPerToken;
    return others * Math.max(this.meanWorkMs, leastMs) * unchecked(c.prefillFactor[slot]);
  }

  /** Expected wait at a host of the last `fill`, ms; 0 where its speed isn't known. */
  waitOf(slot: i32): f64 {
    return unchecked(this.waitMs[slot]);
  }

  private room(c: Candidates, slot: i32, nowMs: f64): Room {
    unchecked((this.waitMs[slot] = 0));
    if (unchecked(this.facts.pushedBackUntilMs[slot]) > nowMs) return Room.None;
    this.describe(c, slot);
    const load = this.load;
    const sampleMs = unchecked(this.facts.sampleMs[slot]);
    const isNews = sampleMs != unchecked(this.seenMs[slot]);
    if (isNews || this.isHolding) {
      const waiting = this.fleet.inFlight.totalWaiting(slot);
      if (isNews) {
        unchecked((this.seenMs[slot] = sampleMs));
        unchecked((this.waitingThen[slot] = waiting));
      }
      if (this.isHolding) {
        const since = <f64>max(0, waiting - unchecked(this.waitingThen[slot]));
        const sinceTokens = (since * this.meanWorkMs) / this.config.cost.prefillMsPerToken;
        load.waiting += since;
        load.kvUsage += sinceTokens / unchecked(this.caches.capacities[slot]);
      }
    }
    load.waitMs = unchecked(c.pendingMs[slot]) + this.othersWorkMs(c, slot);
    load.isLearned = load.waitMs > 0 && this.isLearned(slot);
    unchecked((this.waitMs[slot] = load.isLearned ? load.waitMs : 0));
    return roomAt(load, this.limits);
  }

  /** What is known to be at a host: reports that aren't stale, and own accounting. */
  private describe(c: Candidates, slot: i32): void {
    const load = this.load;
    const isFresh = unchecked(c.freshness[slot]) > 0;
    load.inFlight = unchecked(c.inFlight[slot]);
    // The limits are about what servers report, own requests included.
    load.running = isFresh ? unchecked(this.facts.running[slot]) : NaN;
    load.waiting = isFresh ? unchecked(this.facts.waiting[slot]) : NaN;
    load.kvUsage = isFresh ? unchecked(c.kvUsage[slot]) : NaN;
  }

  /** By how much what is under way at a host that joined late counts over what it is: 4 at first, 0 from SLOW_START_MS on. */
  private slowStart(joinedMs: f64, nowMs: f64): f64 {
    if (joinedMs <= this.firstJoinedMs + TOGETHER_MS) return 0;
    const share = Math.max((nowMs - joinedMs) / SLOW_START_MS, SLOW_START_SHARE);
    return share < 1 ? 1 / share - 1 : 0;
  }

  /** What ticks work out, as speeds, has changed. */
  refresh(): void {
    this.caches.refresh();
    this.facts.expire();
  }

  /**
   * Weight of a host's report: 1 up to two intervals of age, then falling evenly to 0 at `stale_after_ms`, so that nothing
   * drops off a cliff.
   */
  freshness(record: HostRecord, nowMs: f64): f64 {
    return this.freshnessOf(record.sampleMs, nowMs);
  }

  private freshnessOf(sampleMs: f64, nowMs: f64): f64 {
    if (sampleMs == 0) return 0;
    const age = nowMs - sampleMs;
    if (age <= this.freshMs) return 1;
    const staleMs = this.staleMs;
    return age >= staleMs ? 0 : (staleMs - age) / (staleMs - this.freshMs);
  }

  /** Whether a host that should report has nothing recent to say. */
  isStale(record: HostRecord, nowMs: f64): bool {
    return this.config.metrics.source != MetricsSource.None && this.freshness(record, nowMs) == 0;
  }
}
