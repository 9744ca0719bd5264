import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { isHeld, learned, nextSeed, question } from "./busy.ts";
import { chat } from "./gateway.ts";
import { prose } from "./lab.ts";

test("heavy prompts wait where most of them is cached for as long as another server costs more, not for good", () => {
  const held = { soon: 0, later: 0 };
  for (let round = 0; round < 6; round++) {
    const gateway = learned({ heavy_prompt_tokens: 12_000 }, {}, 8);
    for (let i = 0; i < 200; i++) gateway.send(question()).answer();
    const shared = prose(400_000, random(nextSeed()));
    const ask = () =>
      gateway.send(chat(`${shared} ${prose(60_000, random(nextSeed()))}`, { stream: true }));
    const known = ask();
    gateway.host.advance(8000);
    known.answer({ promptTokens: 115_000 });
    gateway.host.advance(8000);
    // Of each 15,000 tokens are new where the others are known: 0.8 s there, 6.3 s elsewhere. No server answers.
    const asked = [1, 2, 3].map(ask);
    assert.equal(asked[0]?.target, known.target);
    gateway.host.advance(1000);
    held.soon += asked.filter(isHeld).length;
    gateway.host.advance(5000);
    held.later += asked.filter(isHeld).length;
    assert.equal(new Set(asked.map(({ target }) => target)).size, 3);
  }
  assert.ok(held.soon > 0);
  assert.equal(held.later, 0);
});
