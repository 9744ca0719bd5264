import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { firstToken, isHeld, isSent, learned, nextSeed, question } from "./busy.ts";
import { chat, type Exchange, type Gateway } from "./gateway.ts";
import { prose } from "./lab.ts";

/** A prompt of some 40,000 tokens, 2.2 s of prefill. */
const heavy = (gateway: Gateway, headers: Record<string, string> = {}): Exchange =>
  gateway.send(chat(prose(160_000, random(nextSeed())), { stream: true }), { headers });

/** Four servers that had light prompts only: those from which their speed was learned have 10,000 tokens. */
function lightBefore(admission: Record<string, unknown> = {}): Gateway {
  const gateway = learned({ heavy_prompt_tokens: 12_000, ...admission }, {}, 4);
  for (let i = 0; i < 200; i++) gateway.send(question()).answer();
  return gateway;
}

test("heavy prompts leave half of the servers to light ones, which go there at once", () => {
  const gateway = lightBefore();
  const heavies = [1, 2, 3].map(() => heavy(gateway));
  assert.deepEqual(heavies.map(isSent), [true, true, false]);
  const [first, second, third] = heavies as [Exchange, Exchange, Exchange];
  assert.notEqual(first.target, second.target);
  const lights = [1, 2].map(() => {
    const light = gateway.send(question());
    gateway.host.advance(20);
    return light;
  });
  for (const light of lights) {
    assert.ok(isSent(light));
    assert.ok(light.target !== first.target && light.target !== second.target);
    light.answer();
  }
  gateway.host.advance(300);
  assert.ok(isHeld(third), "though two servers have nothing to do");
  firstToken(second);
  gateway.host.advance(300);
  assert.ok(isSent(third));
});

test("a heavy prompt that was kept for four fifths of its time takes any server", () => {
  const gateway = lightBefore({ queue_timeout_ms: 1000 });
  const [first, second, third] = [1, 2, 3].map(() => heavy(gateway)) as [
    Exchange,
    Exchange,
    Exchange,
  ];
  gateway.host.advance(750);
  assert.ok(isHeld(third));
  gateway.host.advance(100);
  assert.ok(isSent(third));
  assert.ok(third.target !== first.target && third.target !== second.target);
});

test("nobody is refused for the sake of light ones: without a place in the queue a heavy prompt goes", () => {
  const gateway = lightBefore({ queue_limit: 1 });
  const heavies = [1, 2, 3, 4].map(() => heavy(gateway));
  assert.deepEqual(heavies.map(isSent), [true, true, false, true]);
});

test("where all are heavy all servers work, one prompt on each", () => {
  const gateway = learned({ heavy_prompt_tokens: 5000 }, {}, 4);
  const heavies = [1, 2, 3, 4, 5].map(() => heavy(gateway));
  assert.deepEqual(heavies.map(isSent), [true, true, true, true, false]);
  assert.equal(new Set(heavies.slice(0, 4).map(({ target }) => target)).size, 4);
});

test("heavy_share: 1 keeps nothing for light ones", () => {
  const gateway = lightBefore({ heavy_share: 1 });
  const heavies = [1, 2, 3, 4, 5].map(() => heavy(gateway));
  assert.deepEqual(heavies.map(isSent), [true, true, true, true, false]);
});
