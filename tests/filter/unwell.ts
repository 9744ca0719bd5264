/** A gateway before two servers of which one fails, in any way. */
import assert from "node:assert/strict";
import { chat, type Exchange, Gateway, hostNames } from "./gateway.ts";

export const [BAD, GOOD] = hostNames(2) as [string, string];
const IDLE = "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n";

interface Options {
  scrapes?: () => boolean;
  workers?: number;
  hosts?: string[];
}

/** A gateway that sets a server aside after two failures, for a second at first. */
export function gatewayOf({ scrapes, workers, hosts = [BAD, GOOD] }: Options = {}): Gateway {
  const metrics = scrapes ? { interval_ms: 500, stale_after_ms: 5000 } : { source: "none" };
  return new Gateway(hosts, {
    workers: workers ?? 1,
    config: { metrics, health: { failures: 2, eject_ms: 1000, eject_max_ms: 8000 } },
    onCall: (call) => {
      if (call.headers.get(":authority") === BAD && !scrapes?.()) call.refuse();
      else call.respond(200, IDLE);
    },
  });
}

let serial = 0;

/** A prompt that has nothing in common with any other. */
export const question = () => `question ${serial++ * 7919}`;

export const send = (gateway: Gateway, worker = 0): Exchange =>
  gateway.send(chat(question()), { worker });

/** Sends until `count` requests went to the bad server and failed; the others are answered. */
export function fail(gateway: Gateway, count: number, how: (exchange: Exchange) => void): void {
  for (let failed = 0, tries = 0; failed < count && tries < 200; tries++) {
    const exchange = send(gateway);
    if (exchange.target === BAD) {
      failed++;
      how(exchange);
    } else exchange.answer();
  }
}

/** Requests at once, of which so many went to the bad server; then each is answered. */
export function burst(gateway: Gateway, count = 40, workers = 1): number {
  const open = Array.from({ length: count }, (_, i) => send(gateway, i % workers));
  const bad = open.filter((exchange) => exchange.target === BAD).length;
  for (const exchange of open) {
    assert.ok(bad > 0 || !exchange.choice.includes(BAD), "no fallback either");
    exchange.answer();
  }
  return bad;
}

export const answer500 = (exchange: Exchange) => void exchange.answer({ status: 500 });
export const breakOff = (exchange: Exchange) => exchange.stream.upstreamReset();
