/** Servers that take requests and never answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, type Exchange, type Gateway, hostNames } from "./gateway.ts";
import { recordOf } from "./records.ts";
import { BAD, burst, gatewayOf, question } from "./unwell.ts";

/** Runs 4 s of 50 short requests a second, then 4 s of 500; all but the bad server answer after 400 ms. */
function silence(gateway: Gateway): number {
  const open: { exchange: Exchange; sentMs: number }[] = [];
  const over = ({ exchange, sentMs }: (typeof open)[number]) =>
    exchange.target !== BAD && gateway.clock.ms - sentMs >= 400;
  let stuck = 0;
  for (let i = 0; i < 2200; i++) {
    // Short answers: what waits there doesn't make a batch that others would shun.
    const exchange = gateway.send(chat(question(), { max_tokens: 1 }));
    if (exchange.target === BAD) stuck++;
    open.push({ exchange, sentMs: gateway.clock.ms });
    gateway.host.advance(i < 200 ? 20 : 2);
    for (const entry of open.filter(over)) {
      open.splice(open.indexOf(entry), 1);
      entry.exchange.answer();
    }
  }
  for (const { exchange } of open) exchange.answer();
  return stuck;
}

test("a server that takes requests and never answers gets few, though its metrics say it is idle", () => {
  const gateway = gatewayOf({ hosts: hostNames(4), scrapes: () => true });
  gateway.host.advance(1000);
  const stuck = silence(gateway);
  assert.ok(stuck > 0 && stuck <= 16, `${stuck} of 2200 wait there`);
  assert.ok(burst(gateway) > 0, "it answers again, and is used again");
});

test("clients that leave a server where nobody is answered speak against it", () => {
  const gateway = gatewayOf({ hosts: hostNames(4), scrapes: () => true });
  gateway.host.advance(1000);
  const open = Array.from({ length: 40 }, () => gateway.send(chat(question(), { stream: true })));
  const waiting = open.filter((exchange) => exchange.target === BAD);
  for (const exchange of open) if (exchange.target !== BAD) exchange.answer();
  gateway.host.advance(5000);
  waiting.shift()?.stream.clientReset();
  waiting.shift()?.stream.clientReset();
  assert.equal(recordOf(gateway, BAD).failures, 0, "it may only be slow");
  gateway.host.advance(8000);
  waiting.shift()?.stream.clientReset();
  waiting.shift()?.stream.clientReset();
  assert.equal(burst(gateway), 0, "it is set aside");
});
