import { Config, MetricsSource } from "../config/config";
import { factorOr1 } from "../cost/speed";
import { Candidates } from "../policy/candidates";
import { HostRecord } from "../state/hostrecord";
import { Fleet } from "./fleet";
import { Health } from "./health";

/** Fills the candidates of a choice from the shared tables. */
export class View {
  constructor(
    private config: Config,
    private fleet: Fleet,
    private health: Health,
  ) {}

  /**
   * Everything but `cachedTokens`, for a request for a model (0: unknown).
   * @returns how many hosts are usable
   */
  fill(c: Candidates, model: u64, nowMs: f64): i32 {
    const hosts = this.fleet.hosts;
    const inFlight = this.fleet.inFlight;
    const speeds = this.fleet.speeds;
    let usable = 0;
    c.count = hosts.count;
    for (let slot = 0; slot < c.count; slot++) {
      const at = this.fleet.states.at(slot);
      const may =
        hosts.isKnown(slot) &&
        !hosts.isUnhealthy(slot) &&
        this.health.usable(slot, nowMs) &&
        HostRecord.serves(at, model);
      unchecked((c.usable[slot] = may ? 1 : 0));
      if (!may) continue;
      usable++;
      const report = HostRecord.sampleMs(at) > 0;
      const capacity = this.capacityTokens(slot);
      const clock = inFlight.clockTokens(slot);
      unchecked((c.room[slot] = 1));
      unchecked((c.hash[slot] = hosts.hash(slot)));
      unchecked((c.cachedTokens[slot] = 0));
      unchecked((c.pendingMs[slot] = inFlight.pendingMs(slot, nowMs)));
      unchecked((c.inFlight[slot] = <f64>(inFlight.waiting(slot) + inFlight.decoding(slot))));
      unchecked((c.running[slot] = report ? HostRecord.running(at) : NaN));
      unchecked((c.waiting[slot] = report ? HostRecord.waiting(at) : NaN));
      unchecked((c.kvUsage[slot] = report ? HostRecord.kvUsage(at) : NaN));
      unchecked((c.gpuUtilization[slot] = report ? HostRecord.gpuUtilization(at) : NaN));
      unchecked((c.freshness[slot] = this.freshness(at, nowMs)));
      unchecked((c.prefillFactor[slot] = unchecked(speeds.prefill[slot])));
      unchecked((c.decodeFactor[slot] = unchecked(speeds.decode[slot])));
      unchecked((c.fill[slot] = Math.min(1, clock / capacity)));
    }
    return usable;
  }

  /** Sets the clocks and capacities by which the location table tells what is alive. */
  setClocks(): void {
    const locations = this.fleet.locations;
    const count = this.fleet.hosts.count;
    for (let slot = 0; slot < count; slot++) {
      const clock = this.fleet.inFlight.clockTokens(slot);
      // What was inserted before a restart or flush is gone, however young.
      const sinceFlush = clock - HostRecord.flushedClock(this.fleet.states.at(slot));
      unchecked((locations.clock[slot] = clock));
      unchecked((locations.capacity[slot] = Math.min(this.capacityTokens(slot), sinceFlush)));
    }
  }

  /** Cache capacity of a host: as it states it, else as configured, times what was learned from answers. */
  capacityTokens(slot: i32): f64 {
    const at = this.fleet.states.at(slot);
    const stated = HostRecord.capacityTokens(at);
    const base = stated > 0 ? stated : <f64>this.config.cost.cacheCapacityTokens;
    return base * factorOr1(HostRecord.capacityFactor(at));
  }

  /**
   * Weight of a host's report: 1 up to two intervals of age, then falling evenly to 0 at `stale_after_ms`, so that nothing
   * drops off a cliff.
   */
  freshness(at: usize, nowMs: f64): f64 {
    const sampleMs = HostRecord.sampleMs(at);
    if (sampleMs == 0 || this.config.metrics.source == MetricsSource.None) return 0;
    const staleMs = <f64>this.config.metrics.staleAfterMs;
    const freshMs = Math.min(2 * <f64>this.config.metrics.intervalMs, staleMs * 0.5);
    const age = nowMs - sampleMs;
    if (age <= freshMs) return 1;
    return age >= staleMs ? 0 : (staleMs - age) / (staleMs - freshMs);
  }

  /** Whether a host that should report has nothing recent to say. */
  isStale(at: usize, nowMs: f64): bool {
    return this.config.metrics.source != MetricsSource.None && this.freshness(at, nowMs) == 0;
  }
}
