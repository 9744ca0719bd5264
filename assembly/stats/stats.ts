import { Counter, Gauge, Histogram } from "../host/stats";
import { FAULTS, faultName } from "../peers/check";
import { FIRST_REJECTION, REASONS, reasonName } from "../policy/reason";
import { Prediction } from "./prediction";

/**
 * Everything an operator can see, under the names of the README's table. Labels are parts of the name that the bootstrap's
 * `stats_tags` turn into Prometheus labels: `warmroute.decisions_total.reason.session` → `warmroute_decisions_total{reason="session"}`.
 */
export class Stats {
  /** While a worker has more streams than this open, what its requests count is told at ticks, not at the end of each. */
  private fewStreams: i32 = 4;
  private decisions: StaticArray<Counter> = new StaticArray<Counter>(REASONS);
  private rejections: StaticArray<Counter> = new StaticArray<Counter>(REASONS);
  readonly scrapes: Counter = zero("scrapes_total");
  readonly scrapeFailures: Counter = zero("scrape_failures_total");
  /** Polls of Envoy's admin interface; failed ones count as failed scrapes too. */
  readonly discoveryPolls: Counter = zero("discovery_polls_total");
  readonly discoveryFailures: Counter = zero("discovery_failures_total");
  readonly staleHosts: Gauge = Gauge.define("warmroute.stale_hosts");
  readonly tableEntries: Gauge = Gauge.define("warmroute.table_entries");
  readonly tableEvictions: Counter = zero("table_evictions_total");
  /** Prompt tokens of decided requests as estimated: what the cached ones are a share of. */
  readonly promptTokens: Counter = zero("prompt_tokens_total");
  readonly expectedCached: Counter = zero("expected_cached_tokens_total");
  readonly reportedCached: Counter = zero("reported_cached_tokens_total");
  readonly internalErrors: Counter = zero("internal_errors_total");
  /** Requests routed by headers alone because this Envoy can't hold headers while a body is read. */
  readonly headersNotHeld: Counter = zero("headers_not_held_total");
  /** Requests that another host served than the one chosen, though no try had failed: Envoy doesn't follow the choice. */
  readonly choicesIgnored: Counter = zero("choices_ignored_total");
  /** Requests that brought a routing header of their own, which was removed. */
  readonly headersRemoved: Counter = zero("headers_removed_total");
  /** Requests that were let through to servers, and their further tries as far as they show. */
  readonly tries: Counter = zero("tries_total");
  /** Requests that reached the servers past this filter. */
  readonly outsideRequests: Counter = zero("outside_requests_total");
  /** Predicted work of the tenants that have no statistics of their own (filter/admission/tenants.ts), ms. */
  readonly otherTenants: Counter = Counter.zero("warmroute.tenant_work_ms_total.tenant.other");
  readonly queueLength: Gauge = Gauge.define("warmroute.queue_length");
  /** Gateways that are to be heard, and that are. */
  readonly peers: Gauge = Gauge.define("warmroute.peers");
  readonly peersHeard: Gauge = Gauge.define("warmroute.peers_heard");
  /** Age of the oldest of what those that are heard said last, ms. */
  readonly peersOldest: Gauge = Gauge.define("warmroute.peers_oldest_ms");
  readonly peerSent: Counter = zero("peer_messages_sent_total");
  readonly peerReceived: Counter = zero("peer_messages_received_total");
  readonly peerBytesSent: Counter = zero("peer_bytes_sent_total");
  readonly peerBytesReceived: Counter = zero("peer_bytes_received_total");
  /** Messages that brought no good answer. */
  readonly peerFailures: Counter = zero("peer_messages_failed_total");
  /** Heavy prompts that were proposed, that went elsewhere than that, and that waited for the others as long as they may. */
  readonly proposals: Counter = zero("peer_proposals_total");
  readonly proposalsMoved: Counter = zero("peer_proposals_moved_total");
  readonly proposalsExpired: Counter = zero("peer_proposals_expired_total");
  private peerFaults: StaticArray<Counter> = new StaticArray<Counter>(FAULTS);
  /** By how much predictions missed: tokens that answers report; the time from sending to the first byte of streamed answers. */
  readonly promptPrediction: Prediction = new Prediction("prompt_tokens");
  readonly outputPrediction: Prediction = new Prediction("output_tokens");
  readonly ttftPrediction: Prediction = new Prediction("ttft", "_ms");
  /** Of streamed answers, from the end of the request's body to the first byte, the wait here included, ms. */
  readonly ttft: Histogram = Histogram.define("warmroute.ttft_ms");
  readonly queueWait: Histogram = Histogram.define("warmroute.queue_wait_ms");
  /** Microseconds from the end of a body to its decision, of one decision in eight. */
  readonly decisionTime: Histogram = Histogram.define("warmroute.decision_us");

  constructor() {
    for (let reason = 0; reason < REASONS; reason++) {
      this.decisions[reason] = zero("decisions_total.reason." + reasonName(reason));
    }
    for (let reason = <i32>FIRST_REJECTION; reason < REASONS; reason++) {
      this.rejections[reason] = zero("rejected_total.cause." + reasonName(reason));
    }
    for (let fault = 1; fault < FAULTS; fault++) {
      this.peerFaults[fault] = zero("peer_messages_dropped_total.cause." + faultName(fault));
    }
    this.peers.add(0);
    this.peersHeard.add(0);
    this.peersOldest.add(0);
    this.staleHosts.set(0);
    this.tableEntries.add(0);
    this.queueLength.add(0);
  }

  /** Counts an inference request by what became of it; `tell` follows. */
  decided(reason: i32): void {
    if (reason >= 0 && reason < REASONS) unchecked(this.decisions[reason]).note(1);
  }

  /** A request is over, and what it counts noted. @param open streams of this worker, itself included */
  ended(open: i32): void {
    if (open <= this.fewStreams) this.tell();
  }

  /** No tick comes any more: what ends from now on is told at once. */
  endTicks(): void {
    this.fewStreams = i32.MAX_VALUE;
    this.tell();
  }

  /** Tells Envoy what requests counted: at ticks, too. */
  tell(): void {
    for (let reason = 0; reason < REASONS; reason++) unchecked(this.decisions[reason]).tell();
    this.promptTokens.tell();
    this.expectedCached.tell();
    this.reportedCached.tell();
  }

  /** Counts a message that changed nothing, by what is wrong with it. */
  peerDropped(fault: i32): void {
    if (fault > 0 && fault < FAULTS) unchecked(this.peerFaults[fault]).add(1);
  }

  /** How many requests, over all workers, had this reason. */
  decisionsFor(reason: i32): u64 {
    return unchecked(this.decisions[reason]).get();
  }

  /** Counts a request that was answered 429. */
  rejected(reason: i32): void {
    if (reason >= FIRST_REJECTION && reason < REASONS) unchecked(this.rejections[reason]).add(1);
  }
}

/** A counter that shows from the start. */
function zero(name: string): Counter {
  return Counter.zero("warmroute." + name);
}
