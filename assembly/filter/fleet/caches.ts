import { Config } from "../../config/config";
import { factorOr1 } from "../../cost/speed";
import { MAX_HOSTS, STAMP_TOKENS } from "../../state/layout";
import { endOfCache } from "../../state/residency";
import { Fleet } from "./fleet";

/** Made so far in this VM. */
let made: u32 = 0;

/** How large hosts' caches are, how full, and how far back they reach: by that the location table tells what is alive. */
export class Caches {
  /** By slot, as of the last `setClocks`: capacity in tokens, and how full of past prompts it is, at most 1. */
  readonly capacities: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly fills: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** By slot: token clock before which nothing is left in the host's cache. */
  private ends: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** By slot: version of the host's record that these are of. */
  private seen: StaticArray<u32> = new StaticArray<u32>(MAX_HOSTS);
  /** Version of the host directory that they are of, −1: work all out anew. */
  private directory: i64 = -1;
  private id: u32 = ++made;

  constructor(
    private config: Config,
    private fleet: Fleet,
  ) {
    this.ends.fill(-Infinity);
  }

  /** Works out how far back each host's cache reaches: at ticks. */
  refresh(): void {
    const count = this.fleet.hosts.count;
    for (let slot = 0; slot < count; slot++) {
      const at = this.fleet.states.at(slot).residency;
      const clock = this.fleet.inFlight.clockTokens(slot);
      unchecked((this.ends[slot] = endOfCache(at, clock, this.capacityTokens(slot))));
    }
    this.directory = -1;
  }

  /** Sets the clocks and capacities by which the location table tells what is alive: of the hosts for which they changed. */
  setClocks(): void {
    const fleet = this.fleet;
    const inFlight = fleet.inFlight;
    const changes = fleet.states.changes;
    const clocks = fleet.locations.clock;
    const version = <i64>fleet.hosts.version;
    // Another filter of this namespace may have set them by its own configuration.
    const isOwn = fleet.clocksBy == this.id;
    const isAll = !isOwn || version != this.directory;
    fleet.clocksBy = this.id;
    this.directory = version;
    const count = fleet.hosts.count;
    for (let slot = 0; slot < count; slot++) {
      const clock = inFlight.clockTokens(slot);
      const change = unchecked(changes[slot]);
      const isSame = clock == unchecked(clocks[slot]) && change == unchecked(this.seen[slot]);
      if (isSame && !isAll) continue;
      unchecked((this.seen[slot] = change));
      this.setClock(slot, clock);
    }
  }

  private setClock(slot: i32, clock: f64): void {
    const capacity = this.capacityTokens(slot);
    // What was inserted before a restart or flush is gone, however young; stamps are whole ticks.
    const flushed = this.fleet.states.at(slot).flushedClock;
    const flushedTick = Math.floor(flushed / STAMP_TOKENS) * STAMP_TOKENS;
    const sinceFlush = flushed > 0 ? clock - flushedTick + 1 : Infinity;
    const reach = Math.min(capacity, clock - unchecked(this.ends[slot]));
    this.fleet.locations.setClock(slot, clock, Math.max(Math.min(reach, sinceFlush), 1));
    unchecked((this.capacities[slot] = capacity));
    unchecked((this.fills[slot] = Math.min(1, clock / capacity)));
  }

  /** Cache capacity of a host: as it states it, else as configured, times what was learned from answers. */
  capacityTokens(slot: i32): f64 {
    const record = this.fleet.states.at(slot);
    const stated = record.capacityTokens;
    const base = stated > 0 ? stated : <f64>this.config.cost.cacheCapacityTokens;
    return base * factorOr1(record.capacityFactor);
  }
}
