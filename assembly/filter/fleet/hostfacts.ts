import { Candidates } from "../../policy/candidates";
import { MAX_HOSTS } from "../../state/layout";
import { Fleet } from "./fleet";

/**
 * What the records of hosts say for choices, taken over when a record, the directory or a tick's conclusions changed: with
 * hundreds of hosts, reading all records for each request would cost more than the rest of the decision.
 */
export class HostFacts {
  /** By slot: 1 for a host that is known, not unhealthy and not set aside; another needs a closer look. */
  readonly isSound: StaticArray<u8> = new StaticArray<u8>(MAX_HOSTS);
  /** 1 for a host that Envoy uses for want of better ones only (a higher priority, degraded), and how many there are. */
  readonly isSpare: StaticArray<u8> = new StaticArray<u8>(MAX_HOSTS);
  spares: i32 = 0;
  /** When its report was true, and that of its GPU's use, ms; 0 for none. */
  readonly sampleMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly gpuSampleMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly gpuUtilization: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** Requests that it reports, own ones included; NaN unknown. */
  readonly running: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly waiting: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly joinedMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly pushedBackUntilMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /**
   * Until when (excluded), ms, the passing of time changes nothing that a choice reads of the host, while nothing is in flight
   * there; 0 not known. Set by who fills candidates in, void with the next record.
   */
  readonly restsUntilMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** Hosts that name their models. */
  naming: i32 = 0;
  /** By slot: signature of the models that the host names, 0 for none and while it is gone or unwell. */
  readonly names: StaticArray<u64> = new StaticArray<u64>(MAX_HOSTS);
  /** How often one of these has changed; wraps. */
  namesVersion: u32 = 0;

  private isNaming: StaticArray<u8> = new StaticArray<u8>(MAX_HOSTS);
  /** By slot: version of the record that was taken over; of all, version of the directory, −1 for none. */
  private seen: StaticArray<u32> = new StaticArray<u32>(MAX_HOSTS);
  private directory: i64 = -1;

  constructor(private fleet: Fleet) {}

  /** Takes all over at the next `refresh`: what ticks work out, as speeds, has changed. */
  expire(): void {
    this.directory = -1;
  }

  /** Takes over what changed since the last call; into the candidates what they say of a host whoever asks. */
  refresh(c: Candidates): void {
    const hosts = this.fleet.hosts;
    const changes = this.fleet.states.changes;
    const version = <i64>hosts.version;
    const isAll = version != this.directory;
    this.directory = version;
    for (let slot = 0; slot < hosts.count; slot++) {
      if (isAll || unchecked(changes[slot]) != unchecked(this.seen[slot])) this.take(c, slot);
    }
  }

  /** Takes a host's record over. */
  take(c: Candidates, slot: i32): void {
    const fleet = this.fleet;
    const hosts = fleet.hosts;
    const record = fleet.states.at(slot);
    unchecked((this.seen[slot] = fleet.states.changes[slot]));
    const isHealthy = hosts.isKnown(slot) && !hosts.isUnhealthy(slot);
    unchecked((this.isSound[slot] = isHealthy && record.ejectedUntilMs == 0 ? 1 : 0));
    const isSpare: u8 = isHealthy && hosts.isSpare(slot) ? 1 : 0;
    this.spares += <i32>isSpare - <i32>unchecked(this.isSpare[slot]);
    unchecked((this.isSpare[slot] = isSpare));
    const sampleMs = record.sampleMs;
    const isReporting = sampleMs > 0;
    unchecked((this.sampleMs[slot] = sampleMs));
    unchecked((this.gpuSampleMs[slot] = record.gpuSampleMs));
    unchecked((this.gpuUtilization[slot] = record.gpuUtilization));
    unchecked((this.running[slot] = record.running));
    unchecked((this.waiting[slot] = record.waiting));
    unchecked((this.joinedMs[slot] = record.joinedMs));
    unchecked((this.pushedBackUntilMs[slot] = <f64>record.pushedBackUntilS * 1000));
    unchecked((c.hash[slot] = hosts.hash(slot)));
    unchecked((c.turn[slot] = unchecked(fleet.peerLoads.turn[slot])));
    unchecked((c.running[slot] = isReporting ? record.othersRunning : NaN));
    unchecked((c.waiting[slot] = isReporting ? record.othersWaiting : NaN));
    unchecked((c.kvUsage[slot] = isReporting ? record.kvUsage : NaN));
    unchecked((c.prefillFactor[slot] = unchecked(fleet.speeds.prefill[slot])));
    unchecked((c.decodeFactor[slot] = unchecked(fleet.speeds.decode[slot])));
    unchecked((this.restsUntilMs[slot] = 0));
    const names = isHealthy ? record.models.signature() : 0;
    if (names != unchecked(this.names[slot])) this.namesVersion++;
    unchecked((this.names[slot] = names));
    const isNaming: u8 = record.models.count > 0 ? 1 : 0;
    this.naming += <i32>isNaming - <i32>unchecked(this.isNaming[slot]);
    unchecked((this.isNaming[slot] = isNaming));
  }
}
