import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { firstToken, isHeld, isSent, learned, nextSeed, question } from "./busy.ts";
import { chat, type Exchange } from "./gateway.ts";
import { prose } from "./lab.ts";

const streamed = (bytes: number) => chat(prose(bytes, random(nextSeed())), { stream: true });

test("after a long prefill a server decodes for a while before it gets a held request", () => {
  // Prefills of some 550 ms: by the formula of admission/pace.ts 5 steps for 100 ms a token, as long as steps were learned to be.
  const waitedMs = [100, 0].map((tpot_ms) => {
    const gateway = learned({ tpot_ms });
    const busy = [streamed(40_000), streamed(40_000)].map((body) => gateway.send(body));
    assert.ok(busy.every(isSent));
    const held = gateway.send(question());
    assert.ok(isHeld(held));
    gateway.host.advance(550);
    firstToken(busy[0] as Exchange);
    let ms = 0;
    for (; isHeld(held) && ms < 1000; ms++) gateway.host.advance(1);
    assert.equal(held.target, busy[0]?.target);
    return ms;
  });
  const [paced = 0, unpaced = 0] = waitedMs;
  assert.ok(unpaced <= 2, `at once: ${unpaced} ms`);
  assert.ok(paced > 20 && paced < 100, `${paced} ms`);
});

test("a heavy prompt waits until answers that have just begun can bear it, a light one doesn't", () => {
  // Some 2.2 s of prefill: by the same formula 23 steps for 100 ms a token.
  const heavy = () => chat(prose(160_000, random(nextSeed())), { stream: true });
  const waitedMs = [100, 0].map((tpot_ms) => {
    const gateway = learned({ tpot_ms, heavy_prompt_tokens: 12_000 });
    const short = () => gateway.send(streamed(400));
    const begun = Array.from({ length: 8 }, short);
    gateway.host.advance(20);
    begun.forEach(firstToken);
    assert.equal(new Set(begun.map(({ target }) => target)).size, 2);
    const exchange = gateway.send(heavy());
    const light = short();
    gateway.host.advance(2);
    assert.ok(isSent(light));
    let ms = 2;
    for (; isHeld(exchange) && ms < 3000; ms++) gateway.host.advance(1);
    return ms;
  });
  const [paced = 0, unpaced = 0] = waitedMs;
  assert.ok(unpaced <= 2, `at once: ${unpaced} ms`);
  assert.ok(paced > 100 && paced < 1000, `${paced} ms`);
});

test("who is owed its turn goes to the server that is done soonest, though that is a bit late", () => {
  const gateway = learned({}, { config: { affinity: { tenant_header: "x-tenant" } } });
  const send = (tenant: string) =>
    gateway.send(streamed(8000), { headers: { "x-tenant": tenant } });
  // Prefills of some 110 ms. What is late, though, may be late for long: its price says so.
  const first = send("loud");
  gateway.host.advance(70);
  const second = send("loud");
  assert.ok(isSent(first) && isSent(second));
  assert.notEqual(first.target, second.target);
  assert.ok(isHeld(send("loud")));
  gateway.host.advance(80);
  const quiet = send("quiet");
  assert.ok(isSent(quiet));
  assert.equal(quiet.target, first.target);
});
