import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { type Exchange, Gateway, hostNames } from "./gateway.ts";
import { prose } from "./lab.ts";

type Message = { role: string; content: string };

const next = random(11);

function body(messages: readonly Message[]): Record<string, unknown> {
  return { model: "m", messages };
}

/** A conversation of one first message of so many tokens, which goes on by a short turn each time. */
class Talk {
  private readonly messages: Message[] = [];
  private readonly gateway: Gateway;

  constructor(gateway: Gateway, tokens: number) {
    this.gateway = gateway;
    this.messages.push({ role: "user", content: prose(tokens * 4, next) });
  }

  turn(): Exchange {
    const exchange = this.gateway.send(body(this.messages)).answer({ completionTokens: 5 });
    this.messages.push({ role: "assistant", content: "ok" });
    this.messages.push({ role: "user", content: prose(160, next) });
    this.gateway.host.advance(1000);
    return exchange;
  }
}

function cached(exchange: Exchange): number {
  return Number(exchange.debug("cached-tokens"));
}

test("what rested while others went on is evicted first, however little was new", () => {
  const cost = { cache_capacity_tokens: 8000 };
  const gateway = new Gateway(hostNames(1), { config: { cost } });
  const [first, second, resting, late] = [2400, 2400, 2600, 1500].map((tokens) => {
    return new Talk(gateway, tokens);
  });
  assert.ok(first && second && resting && late);
  for (const talk of [first, second, resting]) talk.turn();
  for (let turn = 0; turn < 3; turn++) {
    assert.ok(cached(first.turn()) > 2000);
    assert.ok(cached(second.turn()) > 2000);
  }
  // All fit so far. Of what this pushes out, least recently used is the one that came last but has rested since.
  late.turn();
  assert.equal(cached(resting.turn()), 0);
});

test("the next turn of a prompt too long to be read whole is expected in the cache", () => {
  const gateway = new Gateway(hostNames(3), { config: { inspect_limit_bytes: 65536 } });
  const long = prose(400_000, next);
  const messages = [
    { role: "user", content: long.slice(0, 200_000) },
    { role: "assistant", content: "go on" },
    { role: "user", content: long.slice(200_000) },
  ];
  const options = { chunk: 16384 };
  const before = gateway.send(body(messages), options).answer();
  const more = [
    { role: "assistant", content: "yes" },
    { role: "user", content: prose(400, next) },
  ];
  const after = gateway.send(body([...messages, ...more]), options).answer();
  assert.equal(after.target, before.target);
  assert.ok(cached(after) > 0.75 * Number(after.debug("prompt-tokens")), `${cached(after)}`);
});

test("a known session whose last message changed keeps what stands above it", () => {
  const gateway = new Gateway(hostNames(3));
  const headers = { "x-session-id": "s1" };
  const system = { role: "system", content: prose(40_000, next) };
  const ask = (text: string): Exchange =>
    gateway.send(body([system, { role: "user", content: text }]), { headers }).answer();
  const before = ask(prose(20_000, next));
  const after = ask(prose(20_000, next));
  assert.equal(after.target, before.target);
  assert.ok(cached(after) > 9000 && cached(after) < 11_000, `${cached(after)}`);
});
