import type { Random } from "./random.ts";

/** What the network between gateways does to their messages. All of it is nothing by default. */
export interface PeerNetwork {
  /** Share of messages that get lost, 0..1. */
  lossShare: number;
  /** Gateways that serve, but neither tell nor hear. */
  unheard: readonly number[];
  /** How late messages of each gateway come, ms on top of what it takes anyway; `allLateMs` of all. */
  lateMs: ReadonlyMap<number, number>;
  allLateMs: number;
  /** When gateways start anew, with nothing known, ms. */
  restartMs: ReadonlyMap<number, number>;
}

export const GOOD_NETWORK: Readonly<PeerNetwork> = {
  lossShare: 0,
  unheard: [],
  lateMs: new Map(),
  allLateMs: 0,
  restartMs: new Map(),
};

/** What gateways sent each other in one run. */
export interface PeerTally {
  messages: number;
  bytes: number;
}

/** One way between two gateways without any fault, ms. */
const PEER_MS = 0.5;

/** When a message gets there after it was sent, ms; undefined: never. */
export function delayMs(
  network: PeerNetwork,
  from: number,
  to: number,
  random: Random,
): number | undefined {
  if (network.unheard.includes(from) || network.unheard.includes(to)) return undefined;
  if (network.lossShare > 0 && random.next() < network.lossShare) return undefined;
  return PEER_MS + network.allLateMs + (network.lateMs.get(from) ?? 0);
}
