import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, type Exchange, Gateway, hostNames } from "./gateway.ts";

const PER_TRY = "x-envoy-upstream-rq-per-try-timeout-ms";
const HEDGE = "x-envoy-hedge-on-per-try-timeout";

function gatewayOf(config: Record<string, unknown> = {}, hosts = hostNames(3)): Gateway {
  return new Gateway(hosts, { config: { cost: { learn: false }, ...config } });
}

const told = ({ stream }: Exchange) => [stream.headers.get(PER_TRY), stream.headers.get(HEDGE)];

test("Envoy is told when to ask the next server as well, streamed or not", () => {
  const gateway = gatewayOf();
  for (const stream of [true, false]) {
    assert.deepEqual(told(gateway.send(chat("Which berth?", { stream }))), ["60000", "true"]);
  }
  const short = gatewayOf({ health: { silence_ms: 30_000 } });
  assert.deepEqual(told(short.send(chat("Which berth?"))), ["30000", "true"]);
});

test("what is expected to take long is given ten times that", () => {
  const cost = { learn: false, prefill_ms_per_token: 10, bytes_per_token: 1 };
  const gateway = gatewayOf({ cost });
  const { stream } = gateway.send(chat("x".repeat(3000)));
  const prefillMs = 3000 * cost.prefill_ms_per_token;
  const afterMs = Number(stream.headers.get(PER_TRY));
  assert.ok(afterMs >= 10 * prefillMs && afterMs < 30 * prefillMs, `${afterMs} ms`);
});

test("what a client says of it is replaced", () => {
  const headers = { [PER_TRY]: "1", [HEDGE]: "false" };
  assert.deepEqual(told(gatewayOf().send(chat("Hello"), { headers })), ["60000", "true"]);
});

test("nothing is told where there is no other server, nothing was read, or Envoy chooses", () => {
  const nothing = [undefined, undefined];
  const text = chat("Which berth?");
  assert.deepEqual(told(gatewayOf({}, hostNames(1)).send(text)), nothing);
  assert.deepEqual(told(gatewayOf().send("{")), nothing);
  assert.deepEqual(told(gatewayOf().send(text, { path: "/v1/files" })), nothing);
  assert.deepEqual(told(gatewayOf({ routing: { mode: "shadow" } }).send(text)), nothing);
  assert.deepEqual(told(gatewayOf({ health: { silence_ms: 0 } }).send(text)), nothing);
});
