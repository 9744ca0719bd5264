import { RequestReader } from "../body/request";
import { nowNs } from "../host/clock";
import { LogLevel, logEnabled } from "../host/log";
import { Judge } from "./admission/judge";
import { Release } from "./admission/release";
import { Tenants } from "./admission/tenants";
import { Waiting } from "./admission/waiting";
import { Answers } from "./answer/answers";
import { Explain } from "./choice/explain";
import { tellPrices } from "./choice/reasoning";
import { Core } from "./core";
import { Peering } from "./peers/peering";
import { Proposals } from "./peers/proposals";
import { Dispatcher } from "./request/dispatch";
import { Held } from "./request/held";
import { Intake } from "./request/intake";
import { Pool } from "./request/pool";
import { Steered } from "./request/steered";
import { Stored } from "./request/stored";
import { Status } from "./status/status";
import { Phase, Stream } from "./stream";

/** One decision in so many is timed: telling the time and the statistic of each costs as much as a tenth of deciding. */
const TIMED_EVERY: u32 = 8;

/** What a request passes through from its headers to its end, joined. */
export class Pipeline {
  readonly intake: Intake = new Intake();
  readonly pool: Pool;
  readonly steered: Steered;
  readonly stored: Stored;
  readonly status: Status;
  readonly held: Held;
  readonly waiting: Waiting;
  readonly release: Release;
  readonly proposals: Proposals;
  readonly explain: Explain;
  readonly answers: Answers;
  private judge: Judge;
  private tenants: Tenants;
  private dispatcher: Dispatcher;
  private decisions: u32 = 0;
  /** Whether decisions are told in the log: asked for at ticks. */
  private tellsPrices: bool = false;

  constructor(
    readonly core: Core,
    peering: Peering,
  ) {
    const tenants = new Tenants(core);
    const dispatcher = new Dispatcher(core, tenants, peering);
    const waiting = new Waiting(core);
    const explain = new Explain(core, dispatcher);
    const pool = new Pool(core);
    this.pool = pool;
    this.steered = new Steered(core);
    this.stored = new Stored(core);
    this.status = new Status(core, tenants, peering);
    this.held = new Held(core);
    this.waiting = waiting;
    this.judge = new Judge(core, waiting, peering);
    this.release = new Release(core, waiting, dispatcher, peering);
    this.proposals = new Proposals(core, dispatcher, peering);
    this.explain = explain;
    this.answers = new Answers(core, pool, dispatcher, waiting, explain, peering);
    this.tenants = tenants;
    this.dispatcher = dispatcher;
  }

  /** Decides for a request: it goes, is held, or is answered; its phase says which. */
  decide(stream: Stream, reader: RequestReader | null): void {
    const core = this.core;
    const d = stream.decision;
    const startNs = nowNs();
    const now = <f64>startNs / 1e6;
    core.decider.decide(d, reader, now);
    if (this.tellsPrices) tellPrices(core, d);
    stream.phase = this.judge.judge(stream, reader, now);
    if (stream.phase == Phase.Sent && reader && this.proposals.isWorth(d)) {
      stream.phase = this.proposals.propose(stream, reader, now);
    }
    if (stream.phase == Phase.Sent) this.dispatcher.dispatch(stream, now);
    if (this.decisions++ % TIMED_EVERY == 0) {
      core.stats.decisionTime.record((nowNs() - startNs) / 1000);
    }
  }

  /** The slow tick. */
  tick(now: f64): void {
    this.tellsPrices = logEnabled(LogLevel.Debug);
    this.held.tick(now);
    this.tenants.tick(now);
  }
}
