import { RoutingMode } from "../../config/config";
import { HeaderMap, setHeader } from "../../host/headers";
import { Decision } from "../choice/decision";
import { hedge } from "./hedge";
import { Core } from "../core";
import { Stream } from "../stream";
import { Peering } from "../peers/peering";
import { Tenants } from "../admission/tenants";

/** The list of hosts at its longest. */
const SCRATCH_BYTES: i32 = 2048;
const scratch: usize = heap.alloc(SCRATCH_BYTES);

/** From a decision to a server: the header that carries the choice, and the request's place in tables and counts. */
export class Dispatcher {
  constructor(
    private core: Core,
    private tenants: Tenants,
    private peering: Peering,
  ) {}

  /** Sets the header that carries the choice, and counts the request on its host. */
  dispatch(stream: Stream, now: f64): void {
    const core = this.core;
    const config = core.config;
    const d = stream.decision;
    core.tries++;
    stream.served.sentMs = now;
    this.tenants.note(stream.ticket.tenant, d.workMs(config.cost.decodeMsPerSequence));
    if (d.choice.count == 0 || config.routing.mode != RoutingMode.Enforce) return;
    const length = this.writeChoice(d, scratch, SCRATCH_BYTES);
    const slot = d.choice.slots[0];
    if (setHeader(HeaderMap.Request, config.routing.header, scratch, length)) {
      this.place(stream, slot, core.fleet.locations.depth[slot], now);
      core.health.sent(slot, now);
      if (!hedge(d, <f64>config.health.silenceMs)) core.stats.internalErrors.add(1);
    } else {
      core.stats.internalErrors.add(1);
      d.choice.count = 0;
    }
  }

  /**
   * Notes where a request goes, counts it there, and tells other gateways.
   * @param known deepest boundary that the host is known to have, −1 for none
   */
  place(stream: Stream, slot: i32, known: i32, now: f64): void {
    this.core.decider.place(stream.decision, slot, known, now);
    const d = stream.decision;
    const served = stream.served;
    if (!served.isInCrowd) served.isInCrowd = this.core.decider.crowd.came(d.key);
    this.count(stream, slot, d.prefillMs, Math.max(d.promptTokens - d.cachedTokens, 0), now);
    this.peering.placed(stream.decision, slot, known, stream.id, now);
  }

  /** Counts a request on its first choice, before it is sent anywhere: its tokens are in no cache yet. */
  propose(stream: Stream, now: f64): void {
    const d = stream.decision;
    this.count(stream, d.choice.slots[0], d.prefillMs, 0, now);
  }

  /** Takes that back; told with what is counted next. */
  withdraw(stream: Stream, now: f64): void {
    const served = stream.served;
    if (served.slot < 0) return;
    const account = this.core.fleet.account;
    account.withdrawn(served.slot, served.generation, served.workMs, stream.decision.isStream, now);
    served.slot = -1;
    served.waiting = false;
  }

  /** A request that was taken off its host is with none of ours. */
  lose(stream: Stream): void {
    stream.served.slot = -1;
    stream.served.waiting = false;
  }

  /** Counts a withdrawn request again where it was. */
  restore(stream: Stream, slot: i32, now: f64): void {
    this.count(stream, slot, stream.served.workMs, 0, now);
  }

  /** Counts a request as waiting for its first token on a host. */
  private count(stream: Stream, slot: i32, workMs: f64, insertedTokens: f64, now: f64): void {
    const served = stream.served;
    const fleet = this.core.fleet;
    const hosts = fleet.hosts;
    if (!hosts.isKnown(slot)) {
      served.slot = -1;
      return;
    }
    served.slot = slot;
    served.generation = hosts.generation(slot);
    served.waiting = true;
    served.workMs = workMs;
    const inFlight = fleet.inFlight;
    served.waitingBefore = <f64>inFlight.totalWaiting(slot);
    const sinceMs = inFlight.othersNewestMs(slot, now);
    const isStream = stream.decision.isStream;
    fleet.account.sent(slot, workMs, insertedTokens, isStream, sinceMs, now);
    served.clockAtSent = inFlight.clockTokens(slot);
  }

  /** Writes the list of chosen hosts, best first, comma between; returns its length. */
  writeChoice(d: Decision, into: usize, capacity: i32): i32 {
    const hosts = this.core.fleet.hosts;
    let length = 0;
    for (let i = 0; i < d.choice.count; i++) {
      const slot = unchecked(d.choice.slots[i]);
      const size = hosts.addressLen(slot);
      if (!hosts.isKnown(slot) || length + size + 1 > capacity) continue;
      if (length > 0) store<u8>(into + length++, 0x2c);
      memory.copy(into + length, hosts.addressPtr(slot), size);
      length += size;
    }
    return length;
  }
}
