import { BodyFields } from "../body/fields";
import { Config } from "../config/config";
import { Stats } from "../stats/stats";
import { Decider } from "./choice/decide";
import { Fleet } from "./fleet/fleet";
import { Health } from "./fleet/health";
import { Ticker } from "./ticker";

/** What all parts of the filter share in one configuration in one VM: they know this, and this knows none of them. */
export class Core {
  config: Config = new Config();
  readonly stats: Stats = new Stats();
  readonly ticker: Ticker = new Ticker();
  /** The plugin's root id. */
  namespace: string = "";
  /** Body fields that name a session, as the body reader takes them. */
  bodyFields: BodyFields = new BodyFields([]);
  /** Tries at servers since the last tick. */
  tries: i32 = 0;
  private fleetOrNull: Fleet | null = null;
  private healthOrNull: Health | null = null;
  private deciderOrNull: Decider | null = null;

  /** @param id the root context's, in whose name calls are made and ticks are wanted */
  constructor(readonly id: u32) {}

  /** Whether a configuration was taken that routes: only then are there the three below. */
  get isRouting(): bool {
    return this.deciderOrNull != null;
  }
  get fleet(): Fleet {
    return this.fleetOrNull!;
  }
  get health(): Health {
    return this.healthOrNull!;
  }
  get decider(): Decider {
    return this.deciderOrNull!;
  }

  /** Takes a configuration that routes. */
  route(config: Config, fleet: Fleet): void {
    const health = new Health(config, fleet);
    this.fleetOrNull = fleet;
    this.healthOrNull = health;
    this.deciderOrNull = new Decider(config, fleet, health);
  }

  /** `ip:port` of a host. Allocates: for messages. */
  addressOf(slot: i32): string {
    const hosts = this.fleet.hosts;
    return String.UTF8.decodeUnsafe(hosts.addressPtr(slot), hosts.addressLen(slot));
  }
}
