import { Source } from "../../state/hosts";
import { Fleet } from "./fleet";

/** A host that nobody names as a member is forgotten when this has passed since it was last heard of, ms. */
const FORGET_MS: f64 = 600000;
const LOOK_EVERY_MS: f64 = 10000;
const MEMBER: u8 = <u8>Source.Config | <u8>Source.Discovery;

/** Frees the places of hosts that only answers or metrics labels made known, once they are silent for long. */
export class Forget {
  private nextMs: f64 = 0;

  constructor(private fleet: Fleet) {}

  /** To be called at the ticks of one VM. */
  tick(nowMs: f64): void {
    if (nowMs < this.nextMs && this.nextMs - nowMs <= LOOK_EVERY_MS) return;
    this.nextMs = nowMs + LOOK_EVERY_MS;
    const hosts = this.fleet.hosts;
    for (let slot = 0; slot < hosts.count; slot++) {
      if (!hosts.isKnown(slot) || (hosts.sources(slot) & MEMBER) != 0) continue;
      const record = this.fleet.states.at(slot);
      const reportedMs = Math.max(record.sampleMs, record.scrapedMs);
      if (nowMs - Math.max(hosts.lastSeenMs(slot), reportedMs) < FORGET_MS) continue;
      hosts.remove(slot, Source.Answers);
      hosts.remove(slot, Source.Metrics);
    }
  }
}
