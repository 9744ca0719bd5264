import { Decision } from "../choice/decision";
import { Core } from "../core";
import { Exchange } from "./exchange";
import { Hearing, endHearing, setHearing } from "./hearing";

/** The exchange with other gateways, or that there is none: what the rest of the filter tells it does nothing then. */
export class Peering {
  private exchange: Exchange | null = null;
  private hearing: Hearing | null = null;

  constructor(private core: Core) {}

  /** Begins, or ends, the exchange as the configuration says. */
  meet(): void {
    const core = this.core;
    const isOn = core.config.peers.cluster.len > 0;
    this.end();
    this.exchange = null;
    core.fleet.peerLoads.isOn = isOn;
    if (!isOn) return;
    const peers = core.fleet.openPeers();
    const exchange = new Exchange(core, peers);
    const hearing = new Hearing(core, exchange.copy, peers);
    this.hearing = hearing;
    this.exchange = exchange;
    setHearing(core.namespace, hearing);
  }

  /** Nobody hears for this filter any more. */
  end(): void {
    const hearing = this.hearing;
    if (hearing) endHearing(this.core.namespace, hearing);
    this.hearing = null;
  }

  /** Gateways besides this one. */
  get others(): i32 {
    const exchange = this.exchange;
    return exchange ? exchange.others : 0;
  }

  /** Share of them that isn't heard, 0..1. */
  get missing(): f64 {
    const exchange = this.exchange;
    return exchange ? exchange.missing : 0;
  }

  /** A request came to this worker. */
  serve(): void {
    const exchange = this.exchange;
    if (exchange) exchange.copy.serves = true;
  }

  /** As Exchange.placed. */
  placed(d: Decision, slot: i32, known: i32, context: u32, now: f64): void {
    const exchange = this.exchange;
    if (exchange) exchange.placed(d, slot, known, context, now);
  }

  /** As Exchange.stored. */
  stored(tag: u64, slot: i32): void {
    const exchange = this.exchange;
    if (exchange) exchange.stored(tag, slot);
  }

  /** As Exchange.progressed. */
  progressed(uncachedTokens: f64, context: u32, now: f64): void {
    const exchange = this.exchange;
    if (exchange) exchange.progressed(uncachedTokens, context, now);
  }

  /** As Exchange.propose. */
  propose(context: u32, now: f64): u32 {
    const exchange = this.exchange;
    return exchange ? exchange.propose(context, now) : 0;
  }

  /** As Exchange.isAnswered. */
  isAnswered(sequence: u32): bool {
    const exchange = this.exchange;
    return exchange ? exchange.isAnswered(sequence) : true;
  }

  /** Requests are held here: other gateways should know whose turn it is. */
  held(now: f64): void {
    const exchange = this.exchange;
    if (exchange) exchange.held(now);
  }

  tick(now: f64): void {
    const exchange = this.exchange;
    if (exchange) exchange.tick(now);
  }

  slowTick(now: f64): void {
    const exchange = this.exchange;
    if (exchange) exchange.slowTick(now);
  }

  /** Whether the answer to a call was one of the exchange's. */
  answered(token: u32, headerCount: i32, bodySize: i32, now: f64): bool {
    const exchange = this.exchange;
    return exchange ? exchange.answered(token, headerCount, bodySize, now) : false;
  }
}
