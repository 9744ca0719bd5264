/** Gateways in front of servers that are busy, for the tests of admission. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { random } from "../../tools/seeded.ts";
import { chat, type Exchange, Gateway, type GatewayOptions, hostNames } from "./gateway.ts";
import { prose } from "./lab.ts";
import { recordOf } from "./records.ts";

const CASES = new URL("../fixtures/cases/", import.meta.url);
/** The parameters of a case. */
export const scenario = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(name, CASES), "utf8")) as T;

/** What a server reports of itself. */
export interface Report {
  running: number;
  waiting: number;
  kv: number;
}

export const BUSY: Report = { running: 40, waiting: 90, kv: 0.5 };
export const FREE: Report = { running: 2, waiting: 0, kv: 0.1 };

/** A gateway whose servers report what `reports` holds, which may change; who isn't in it reports nothing. */
export function reporting(
  names: string[],
  reports: Record<string, Report>,
  admission: Record<string, unknown> = {},
  options: GatewayOptions = {},
): Gateway {
  const gateway = new Gateway(names, {
    ...options,
    config: {
      metrics: { interval_ms: 500 },
      admission,
      ...options.config,
    },
    onCall: (call) => {
      const report = reports[call.headers.get(":authority") ?? ""];
      if (!report) return call.refuse();
      call.respond(
        200,
        `vllm:num_requests_running ${report.running}\nvllm:num_requests_waiting ${report.waiting}\n` +
          `vllm:kv_cache_usage_perc ${report.kv}\n`,
      );
    },
  });
  gateway.host.advance(1200);
  return gateway;
}

export const [H1] = hostNames(1) as [string];

/** One server, which is full until `reports[H1]` says otherwise. */
export function full(admission: Record<string, unknown> = {}, options: GatewayOptions = {}) {
  const reports: Record<string, Report> = { [H1]: BUSY };
  const gateway = reporting([H1], reports, admission, options);
  const free = (waiting = 0) => {
    reports[H1] = { ...FREE, waiting };
    gateway.host.advance(700);
  };
  return { gateway, reports, free };
}

export const isSent = ({ stream }: Exchange) => stream.request.sentEnd === true;
export const isHeld = (exchange: Exchange) =>
  !isSent(exchange) && !exchange.stream.finished && exchange.stream.localReply === undefined;
export const status = ({ stream }: Exchange) => stream.localReply?.status;
export const details = ({ stream }: Exchange) => stream.localReply?.details;

/** The answer to a request begins where it was sent. */
export function firstToken({ stream, target }: Exchange): void {
  stream.upstreamAddress = target;
  stream.responseHeaders([
    [":status", "200"],
    ["content-type", "text/event-stream"],
  ]);
  stream.responseBody('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
}

let serial = 0;
/** Another seed each time, so that no two prompts are alike. */
export const nextSeed = () => serial++;
export const question = () => chat(`Question ${nextSeed() * 7919}`);

/** In the order in which they were sent: only one at a time is let go. */
export function orderOf(
  gateway: Gateway,
  reports: Record<string, Report>,
  held: Exchange[],
): number[] {
  const order: number[] = [];
  for (let round = 0; round < 40 * held.length && order.length < held.length; round++) {
    // Room for one more.
    reports[H1] = { running: 2, waiting: 63, kv: 0.1 };
    gateway.host.advance(50);
    held.forEach((exchange, i) => {
      if (isSent(exchange) && !order.includes(i)) {
        order.push(i);
        exchange.answer();
      }
    });
  }
  return order;
}

/** Two servers whose speed is known, 0.055 ms a token, and which report nothing. */
export function learned(
  admission: Record<string, unknown> = {},
  options: GatewayOptions = {},
  servers = 2,
): Gateway {
  const names = hostNames(servers);
  const gateway = new Gateway(names, { ...options, config: { admission, ...options.config } });
  const isUnknown = (host: string) => !(recordOf(gateway, host).prefillFactor > 0);
  for (let round = 0; round < 20 && (round === 0 || names.some(isUnknown)); round++) {
    const sent = names.map(() => gateway.send(chat(prose(40_000, random(nextSeed())))));
    gateway.host.advance(560);
    for (const exchange of sent.filter(isSent)) exchange.answer({ promptTokens: 10_000 });
    gateway.host.advance(100);
  }
  assert.ok(!names.some(isUnknown));
  return gateway;
}
