import { logError } from "../../host/log";
import { Core } from "../core";

/** So many ignored choices are told … */
const IGNORED_MIN: u32 = 3;
/** … when they are at least this share of all: a host that just left the cluster is no fault of the configuration. */
const IGNORED_SHARE: f64 = 0.1;

/**
 * Notices an Envoy that doesn't follow the choice: a host that wasn't chosen serves requests of which no try failed. Then the
 * route's cluster lacks the load balancing policy `override_host` with our header, or hosts are named that aren't its members.
 */
export class Heed {
  private heeded: u32 = 0;
  private ignored: u32 = 0;
  private isTold: bool = false;

  constructor(private core: Core) {}

  /** The first choice served. */
  followed(): void {
    this.heeded++;
  }

  /** Another than the first choice served, at the first try. */
  passedOver(chosen: i32, actual: i32): void {
    const core = this.core;
    core.stats.choicesIgnored.add(1);
    this.ignored++;
    if (this.isTold || this.ignored < IGNORED_MIN) return;
    if (<f64>this.ignored < IGNORED_SHARE * <f64>(this.ignored + this.heeded)) return;
    this.isTold = true;
    logError(
      `warmroute: Envoy does not follow the choice: ${core.addressOf(chosen)} was chosen, ${core.addressOf(actual)} served, and no try had failed. Expected the ` +
        `load balancing policy override_host on the route's cluster, with override_host_sources: [{header: ` +
        `${core.config.routing.header.toString()}}], and in hosts only members of it. Until then requests go where Envoy sends them.`,
    );
  }
}
