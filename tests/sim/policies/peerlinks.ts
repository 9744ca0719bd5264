import type { Call } from "../../host/calls.ts";
import type { Stream } from "../../host/stream.ts";
import type { FilterHost } from "../filter.ts";
import { isSettled } from "../filter.ts";
import { delayMs, type PeerNetwork, type PeerTally } from "../peers.ts";
import type { PolicyContext } from "../policy.ts";

/** Cluster of the gateways' internal listeners. */
export const PEER_CLUSTER = "warmroute_peers";
const PEER_PATH = "/warmroute/peers";
/** The header that carries where a request, or a call, is to go. */
export const CHOICE_HEADER = "x-gateway-destination-endpoint";

type Answer = (stream: Stream, nowMs: number) => void;

/** Address of a gateway's internal listener. */
function peerAddress(gateway: number): string {
  return `10.1.0.${gateway}:10000`;
}

/** One gateway's end of the network between gateways. */
export class PeerLinks {
  private readonly context: PolicyContext;
  private readonly network: PeerNetwork;
  private readonly tally: PeerTally;
  private readonly filter: () => FilterHost;
  /** The gateways of one run, this one included, by number. */
  private readonly all: PeerLinks[];
  /** Messages that the filter hasn't answered yet. */
  private readonly waiting = new Map<Stream, Answer>();

  /** @param filter the gateway's filter as it is now: a restart brings another */
  constructor(
    context: PolicyContext,
    network: PeerNetwork,
    tally: PeerTally,
    filter: () => FilterHost,
  ) {
    this.context = context;
    this.network = network;
    this.tally = tally;
    this.filter = filter;
    let all = context.shared.get("warmroute") as PeerLinks[] | undefined;
    if (all === undefined) {
      all = [];
      context.shared.set("warmroute", all);
    }
    this.all = all;
    all.push(this);
  }

  /** Addresses of the other gateways. */
  get others(): string[] {
    const { gateway, gateways } = this.context;
    return Array.from({ length: gateways }, (_, other) => other)
      .filter((other) => other !== gateway)
      .map(peerAddress);
  }

  /** A message to another gateway; without an answer in time it counts as failed. */
  send(call: Call, by: FilterHost): void {
    const { context, network } = this;
    const target = call.headers.get(CHOICE_HEADER) ?? "";
    const peer = this.all.find((_, gateway) => peerAddress(gateway) === target);
    if (peer === undefined) return;
    this.tally.messages += 1;
    this.tally.bytes += call.body.length;
    const sentMs = context.nowMs();
    const afterMs = delayMs(network, context.gateway, peer.context.gateway, context.random);
    context.at(sentMs + call.timeoutMs, (nowMs) => {
      if (!call.answered) by.act(nowMs, () => call.timeOut());
    });
    if (afterMs === undefined) return;
    const answer: Answer = (stream, repliedMs) => {
      const local = stream.localReply;
      const backMs = delayMs(network, peer.context.gateway, context.gateway, context.random);
      if (backMs === undefined) return;
      context.at(repliedMs + backMs, (nowMs) => {
        if (call.answered) return;
        by.act(nowMs, () => {
          if (local === undefined) call.refuse();
          else call.respond(local.status, local.body);
        });
      });
    };
    context.at(sentMs + afterMs, (nowMs) => peer.hear(call, answer, nowMs));
  }

  /** The filter has done with a stream; true where it was a message. */
  settled(stream: Stream, nowMs: number): boolean {
    const answer = this.waiting.get(stream);
    if (answer === undefined) return false;
    this.waiting.delete(stream);
    answer(stream, nowMs);
    return true;
  }

  private hear(call: Call, answer: Answer, nowMs: number): void {
    const filter = this.filter();
    const worker = this.context.random.below(filter.workers);
    const path = call.headers.get(":path") ?? PEER_PATH;
    const stream = filter.message(worker, path, call.body, nowMs);
    if (isSettled(stream)) answer(stream, nowMs);
    else this.waiting.set(stream, answer);
  }
}
