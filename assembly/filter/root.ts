import { BodyFields } from "../body/fields";
import { Config } from "../config/config";
import { parseConfig } from "../config/parse";
import { BufferType, getBuffer } from "../host/buffers";
import { nowMs, nowNs } from "../host/clock";
import { RootContext, StreamContext } from "../host/contexts";
import { logError, logWarn } from "../host/log";
import { collectSoon, outLen, outPtr } from "../host/memory";
import { getProperty, path } from "../host/properties";
import { mix } from "../prefix/hash";
import { Source } from "../state/hosts";
import { takeCasGaveUp } from "../state/record";
import { Core } from "./core";
import { Fleet, fleetOf } from "./fleet/fleet";
import { PeerStream } from "./peers/peerstream";
import { Peering } from "./peers/peering";
import { Pipeline } from "./pipeline";
import { Poller } from "./polling/poll";
import { Reports } from "./polling/reports";
import { RequestStream } from "./requeststream";
import { TICK_MS } from "./ticker";

const PLUGIN_ROOT_ID = path("plugin_root_id");

/** One configuration of the filter in one VM: takes it, makes streams, and passes ticks and answers of calls on. */
export class Root extends RootContext {
  private core: Core;
  private peering: Peering;
  private pipeline: Pipeline;
  private poller: Poller | null = null;
  private tickedMs: f64 = 0;

  /** @param id the context's, as Envoy gave it */
  constructor(id: u32) {
    super();
    const core = new Core(id);
    const peering = new Peering(core);
    this.core = core;
    this.peering = peering;
    this.pipeline = new Pipeline(core, peering);
  }

  onConfigure(size: i32): bool {
    if (size > 0 && !getBuffer(BufferType.PluginConfiguration, 0, size)) {
      logError("warmroute: the plugin configuration can't be read from Envoy");
      return false;
    }
    const result = parseConfig(size > 0 ? outPtr : 0, size > 0 ? outLen : 0);
    const config = result.config;
    if (!config) {
      logError("warmroute: configuration refused: " + result.error);
      return false;
    }
    this.take(config);
    collectSoon();
    return true;
  }

  onTick(): void {
    const now = nowMs();
    const core = this.core;
    core.ticker.ticked();
    this.pipeline.release.tick(now);
    this.pipeline.proposals.tick(now);
    this.peering.tick(now);
    // While requests are held ticks come more often; the rest keeps its pace.
    const passedMs = now - this.tickedMs;
    if (passedMs >= 0 && passedMs < <f64>TICK_MS * 0.9) return;
    this.tickedMs = now;
    core.fleet.refresh(now);
    core.decider.tick(now);
    this.pipeline.tick(now);
    this.peering.slowTick(now);
    const poller = this.poller;
    if (poller) poller.tick(now, core.fleet.lease.hold(now));
    this.publish();
  }

  onCallResponse(token: u32, headerCount: i32, bodySize: i32, trailerCount: i32): void {
    const now = nowMs();
    if (this.peering.answered(token, headerCount, bodySize, now)) return;
    const poller = this.poller;
    if (poller) poller.answered(token, headerCount, bodySize, now);
  }

  createStream(id: u32): StreamContext | null {
    const core = this.core;
    if (core.config.peers.serve) return new PeerStream(core);
    if (!core.isRouting) return null;
    this.peering.serve();
    const stream = this.pipeline.pool.takeStream() || new RequestStream(this.pipeline);
    stream.begin();
    return stream;
  }

  /** Lets held requests go before nobody comes back to them. */
  onDone(): void {
    if (this.core.isRouting) {
      this.pipeline.proposals.settleAll(nowMs());
      this.pipeline.release.releaseAll(nowMs());
    }
    this.core.stats.endTicks();
  }

  onDelete(): void {
    this.peering.end();
    if (this.core.isRouting) this.core.fleet.leave(this.core.stats);
  }

  private take(config: Config): void {
    const core = this.core;
    core.config = config;
    core.bodyFields = new BodyFields(config.affinity.bodyFields);
    if (!core.isRouting) {
      core.namespace = getProperty(PLUGIN_ROOT_ID) ? String.UTF8.decodeUnsafe(outPtr, outLen) : "";
    }
    // An internal listener's filter only hears, for the one that routes.
    if (config.peers.serve) return;
    const now = nowMs();
    const fleet = core.isRouting ? core.fleet : this.openFleet(config);
    if (!core.isRouting) fleet.enter(core.stats);
    fleet.refresh(now);
    setHosts(config, fleet, now);
    core.route(config, fleet);
    core.decider.tick(now);
    const reports = new Reports(fleet, core.health);
    this.pipeline.answers.reports = reports;
    this.poller = new Poller(core, this.peering, reports);
    this.peering.meet();
    core.ticker.start();
  }

  private openFleet(config: Config): Fleet {
    const instance = mix(nowNs(), mix(<u64>this.id, changetype<usize>(this)) ^ randomSeed());
    return fleetOf(this.core.namespace, config.affinity.tableBytes, instance);
  }

  /** Adds what this VM counted since the last tick to the shared statistics. */
  private publish(): void {
    const core = this.core;
    const stats = core.stats;
    const gaveUp = takeCasGaveUp();
    stats.tell();
    if (core.tries > 0) stats.tries.add(core.tries);
    core.tries = 0;
    if (gaveUp > 0) stats.internalErrors.add(gaveUp);
    core.fleet.count(stats);
  }
}

/** Makes the configured hosts known, and those that the configuration no longer names unknown to it. */
function setHosts(config: Config, fleet: Fleet, now: f64): void {
  const hosts = fleet.hosts;
  if (config.hosts.length == 0) return;
  for (let i = 0; i < config.hosts.length; i++) {
    const address = config.hosts[i];
    if (hosts.add(address.ptr, address.len, Source.Config, now) < 0) {
      logWarn("warmroute: hosts: no room for another host, it is left out");
    }
  }
  for (let slot = 0; slot < hosts.count; slot++) {
    if ((hosts.sources(slot) & <u8>Source.Config) == 0) continue;
    let named = false;
    for (let i = 0; i < config.hosts.length && !named; i++) {
      const address = config.hosts[i];
      named = hosts.find(address.ptr, address.len) == slot;
    }
    if (!named) hosts.remove(slot, Source.Config);
  }
}

/** Differs between VMs of one Envoy, whose contexts have equal ids and addresses. */
function randomSeed(): u64 {
  return reinterpret<u64>(Math.random());
}
