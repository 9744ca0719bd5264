import { BodyFields } from "../body/fields";
import { RequestReader } from "../body/request";
import { Config } from "../config/config";
import { parseConfig } from "../config/parse";
import { BufferType, getBuffer } from "../host/buffers";
import { nowMs, nowNs } from "../host/clock";
import { RootContext, StreamContext } from "../host/contexts";
import { LogLevel, logEnabled, logError, logWarn } from "../host/log";
import { collectSoon, outLen, outPtr } from "../host/memory";
import { getProperty, path } from "../host/properties";
import { mix } from "../prefix/hash";
import { Source } from "../state/hosts";
import { casGaveUp } from "../state/record";
import { Stats } from "../stats/stats";
import { Admission } from "./admission/admission";
import { Answers } from "./answer/answers";
import { Decider } from "./choice/decide";
import { Dispatcher } from "./request/dispatch";
import { Exchange } from "./peers/exchange";
import { Explain } from "./choice/explain";
import { Feedback } from "./answer/feedback";
import { Fleet, fleetOf } from "./fleet/fleet";
import { Health } from "./fleet/health";
import { Heed } from "./answer/heed";
import { Hearing, endHearing, setHearing } from "./peers/hearing";
import { Held } from "./request/held";
import { Intake } from "./request/intake";
import { PeerStream } from "./peers/peerstream";
import { Poller } from "./polling/poll";
import { Pool } from "./request/pool";
import { tellPrices } from "./choice/reasoning";
import { Status } from "./status/status";
import { Steered } from "./request/steered";
import { Phase, Stream } from "./stream";
import { Tenants } from "./admission/tenants";
import { TICK_MS, Ticker } from "./ticker";

const PLUGIN_ROOT_ID = path("plugin_root_id");
/** Time between scrapes while other gateways are missing, ms. */
const MISSING_SCRAPE_MS: f64 = 100;

/** One configuration of the filter in one VM: joins the rooms, owns the pools. */
export class Root extends RootContext {
  config: Config = new Config();
  readonly stats: Stats = new Stats();
  readonly intake: Intake = new Intake();
  readonly explain: Explain = new Explain(this);
  readonly dispatcher: Dispatcher = new Dispatcher(this);
  readonly answers: Answers = new Answers(this);
  readonly feedback: Feedback = new Feedback(this);
  readonly status: Status = new Status(this);
  readonly heed: Heed = new Heed(this);
  readonly steered: Steered = new Steered(this);
  readonly admission: Admission = new Admission(this);
  readonly pool: Pool = new Pool(this);
  readonly heldStreams: Held = new Held(this);
  readonly ticker: Ticker = new Ticker();
  readonly tenants: Tenants = new Tenants(this);
  /** The plugin's root id. */
  namespace: string = "";
  /** Tries at servers since the last tick. */
  tries: i32 = 0;
  /** Body fields that name a session, as the body reader takes them. */
  bodyFields: BodyFields = new BodyFields([]);
  /** Set when the first configuration is taken; streams exist only afterwards. */
  private fleetOrNull: Fleet | null = null;
  private healthOrNull: Health | null = null;
  private deciderOrNull: Decider | null = null;
  private poller: Poller | null = null;
  /** With other gateways; null while there are none. */
  private exchange: Exchange | null = null;
  private hearing: Hearing | null = null;
  private tickedMs: f64 = 0;
  /** Whether decisions are told in the log: asked for at ticks. */
  private tellsPrices: bool = false;
  private casGaveUpSeen: u64 = 0;
  private filledSeen: u64 = 0;
  private evictedSeen: u64 = 0;

  get fleet(): Fleet {
    return this.fleetOrNull!;
  }
  get health(): Health {
    return this.healthOrNull!;
  }
  get decider(): Decider {
    return this.deciderOrNull!;
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
    this.admission.tick(now);
    const exchange = this.exchange;
    if (exchange) exchange.tick(now);
    // While requests are held ticks come more often; the rest keeps its pace.
    const passedMs = now - this.tickedMs;
    if (passedMs >= 0 && passedMs < <f64>TICK_MS * 0.9) return;
    this.tickedMs = now;
    this.tellsPrices = logEnabled(LogLevel.Debug);
    this.fleet.refresh(now);
    this.decider.tick(now);
    this.heldStreams.tick(now);
    this.tenants.tick(now);
    if (exchange) exchange.slowTick(now);
    const poller = this.poller;
    if (poller) poller.tick(now, this.fleet.lease.hold(now));
    this.publish();
  }

  onCallResponse(token: u32, headerCount: i32, bodySize: i32, trailerCount: i32): void {
    const now = nowMs();
    const exchange = this.exchange;
    if (exchange && exchange.answered(token, headerCount, bodySize, now)) return;
    const poller = this.poller;
    if (poller) poller.answered(token, headerCount, bodySize, now);
  }

  createStream(id: u32): StreamContext | null {
    if (this.config.peers.serve) return new PeerStream(this);
    if (!this.deciderOrNull) return null;
    const exchange = this.exchange;
    if (exchange) exchange.serve();
    return this.pool.takeStream();
  }

  /** Lets held requests go before nobody comes back to them. */
  onDone(): bool {
    if (this.deciderOrNull) this.admission.releaseAll(nowMs());
    return true;
  }

  onDelete(): void {
    const hearing = this.hearing;
    if (hearing) endHearing(this.namespace, hearing);
  }

  /** Decides for a request: it goes, is held, or is answered; its phase says which. */
  send(stream: Stream, reader: RequestReader | null): void {
    const d = stream.decision;
    const startNs = nowNs();
    const now = <f64>startNs / 1e6;
    this.decider.decide(d, reader, now);
    if (this.tellsPrices) tellPrices(this, d);
    stream.phase = this.admission.judge(stream, reader, now);
    if (stream.phase == Phase.Sent) this.dispatcher.dispatch(stream, now);
    this.stats.decisionTime.record((nowNs() - startNs) / 1000);
  }

  /** Other gateways learn of a request that went to a host. @param known deepest boundary that the host had, −1 for none */
  placed(stream: Stream, slot: i32, known: i32, now: f64): void {
    const exchange = this.exchange;
    if (exchange) exchange.placed(stream.decision, slot, known, stream.id, now);
  }

  /** Requests are held here: other gateways should know whose turn it is. */
  held(now: f64): void {
    const exchange = this.exchange;
    if (exchange) exchange.held(now);
  }

  /** A request's first token has come. */
  progressed(uncachedTokens: f64, context: u32, now: f64): void {
    const exchange = this.exchange;
    if (exchange) exchange.progressed(uncachedTokens, context, now);
  }

  /** An ORCA load report that came with an answer of a host. */
  carried(slot: i32, ptr: usize, len: i32, now: f64): void {
    const poller = this.poller;
    if (poller) poller.carried(slot, ptr, len, now);
  }

  /** `ip:port` of a host. Allocates: for messages. */
  addressOf(slot: i32): string {
    const hosts = this.fleet.hosts;
    return String.UTF8.decodeUnsafe(hosts.addressPtr(slot), hosts.addressLen(slot));
  }

  /** Other gateways that are to be heard. */
  get peerCount(): i32 {
    const exchange = this.exchange;
    return exchange ? exchange.others : 0;
  }

  /** Time between scrapes of one host, ms: shorter while gateways are missing whose requests only servers' reports show. */
  get scrapeMs(): f64 {
    const ms = <f64>this.config.metrics.intervalMs;
    const exchange = this.exchange;
    return exchange && exchange.missing > 0 ? Math.min(ms, MISSING_SCRAPE_MS) : ms;
  }

  /** The answer to «can headers be held while a body is read?», until a request shows that they can't. */
  get canHold(): bool {
    return this.heldStreams.canHold;
  }

  private take(config: Config): void {
    const first = this.fleetOrNull == null;
    this.config = config;
    this.bodyFields = new BodyFields(config.affinity.bodyFields);
    const now = nowMs();
    if (first) {
      this.namespace = getProperty(PLUGIN_ROOT_ID) ? String.UTF8.decodeUnsafe(outPtr, outLen) : "";
    }
    // An internal listener's filter only hears, for the one that routes.
    if (config.peers.serve) return;
    if (first) {
      const instance = mix(nowNs(), mix(<u64>this.id, changetype<usize>(this)) ^ randomSeed());
      this.fleetOrNull = fleetOf(this.namespace, config.affinity.tableBytes, instance);
    }
    const fleet = this.fleet;
    fleet.refresh(now);
    this.setHosts(config, now);
    const health = new Health(config, fleet);
    this.healthOrNull = health;
    this.deciderOrNull = new Decider(config, fleet, health);
    this.decider.tick(now);
    this.poller = new Poller(this);
    this.meet();
    this.ticker.start();
  }

  /** Begins, or ends, the exchange with other gateways. */
  private meet(): void {
    const isOn = this.config.peers.cluster.len > 0;
    const hearing = this.hearing;
    if (hearing) endHearing(this.namespace, hearing);
    this.hearing = null;
    this.exchange = null;
    this.fleet.peerLoads.isOn = isOn;
    if (!isOn) return;
    const peers = this.fleet.openPeers();
    const exchange = new Exchange(this, peers);
    const heard = new Hearing(this, exchange, peers);
    this.hearing = heard;
    this.exchange = exchange;
    setHearing(this.namespace, heard);
  }

  /** Makes the configured hosts known, and those that the configuration no longer names unknown to it. */
  private setHosts(config: Config, now: f64): void {
    const hosts = this.fleet.hosts;
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

  /** Adds what this VM counted since the last tick to the shared statistics. */
  private publish(): void {
    const locations = this.fleet.locations;
    const filled = locations.filled;
    const evicted = locations.evicted;
    if (this.tries > 0) this.stats.tries.add(this.tries);
    this.tries = 0;
    if (filled != this.filledSeen) this.stats.tableEntries.add(<i64>(filled - this.filledSeen));
    if (evicted != this.evictedSeen)
      this.stats.tableEvictions.add(<i64>(evicted - this.evictedSeen));
    if (casGaveUp != this.casGaveUpSeen) {
      this.stats.internalErrors.add(<i64>(casGaveUp - this.casGaveUpSeen));
    }
    this.filledSeen = filled;
    this.evictedSeen = evicted;
    this.casGaveUpSeen = casGaveUp;
  }
}

/** Differs between VMs of one Envoy, whose contexts have equal ids and addresses. */
function randomSeed(): u64 {
  return reinterpret<u64>(Math.random());
}
