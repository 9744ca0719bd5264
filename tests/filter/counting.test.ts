/** What requests count: told at once while few are under way, at ticks under load, and never lost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, Gateway } from "./gateway.ts";

const HOSTS = ["10.0.0.1:8000", "10.0.0.2:8000"];
const MANY = 20;
const TICK_MS = 50;

function counts(gateway: Gateway): { decided: number; promptTokens: number } {
  const decided = ["cold", "prefix", "load", "session"].reduce(
    (sum, reason) => sum + gateway.stat(`decisions_total.reason.${reason}`),
    0,
  );
  return { decided, promptTokens: gateway.stat("prompt_tokens_total") };
}

test("a request that is alone is counted when it ends", () => {
  const gateway = new Gateway(HOSTS);
  const exchange = gateway.send(chat("four".repeat(10))).answer();
  const { decided, promptTokens } = counts(gateway);
  assert.equal(decided, 1);
  assert.equal(promptTokens, Number(exchange.debug("prompt-tokens")));
});

test("under load requests are counted by the next tick, each once", () => {
  const gateway = new Gateway(HOSTS);
  const open = Array.from({ length: MANY }, (_unused, i) => gateway.send(chat(`prompt ${i}`)));
  const ended = open.splice(0, MANY / 2);
  for (const exchange of ended) exchange.answer();
  gateway.host.advance(TICK_MS);
  assert.equal(counts(gateway).decided, ended.length);
  for (const exchange of open) exchange.answer();
  // The last of them were few.
  assert.equal(counts(gateway).decided, MANY);
  gateway.host.advance(TICK_MS);
  const tokens = [...ended, ...open].map((exchange) => Number(exchange.debug("prompt-tokens")));
  assert.deepEqual(counts(gateway), {
    decided: MANY,
    promptTokens: tokens.reduce((sum, n) => sum + n, 0),
  });
});

test("a configuration that is replaced counts what ends after its last tick", () => {
  const gateway = new Gateway(HOSTS);
  const open = Array.from({ length: MANY }, (_unused, i) => gateway.send(chat(`prompt ${i}`)));
  open.shift()?.answer();
  gateway.roots[0]?.end();
  assert.equal(counts(gateway).decided, 1);
  open.shift()?.answer();
  assert.equal(counts(gateway).decided, 2);
});
