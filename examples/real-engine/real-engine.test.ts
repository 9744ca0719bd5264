import assert from "node:assert/strict";
import test, { after } from "node:test";
import { post } from "../../tests/e2e/client.ts";
import { buildIfStale } from "../../tools/compile.ts";
import { startListening } from "../../tools/start/fleet.ts";
import { compare, type Run } from "./compare.ts";
import { FETCH_COMMAND, missingParts } from "./parts.ts";
import { LATER_TURNS, promptTokens, report } from "./report.ts";
import { pickSlot } from "./slots.ts";

const missing = missingParts();
const skip =
  missing.length > 0 && `not there: ${missing.join(", ")}; this brings it: ${FETCH_COMMAND}`;

test("a slot goes on with what it holds; else the least recently used begins anew", () => {
  const slot = (tokens: number[], used: number, busy = false) => ({ tokens, used, busy });
  const ferry = slot([1, 2, 3, 4], 1);
  const hotel = slot([1, 9, 9, 9, 9, 9], 3);
  const empty = slot([], 0);
  assert.equal(pickSlot([hotel, ferry, empty], [1, 2, 3, 4, 5]), ferry);
  assert.equal(pickSlot([hotel, { ...ferry, busy: true }, empty], [7, 8]), empty);
  // One token in twenty is no reason to give up what the slot holds.
  const other = [1, ...Array.from({ length: 19 }, () => 5)];
  assert.equal(pickSlot([hotel, ferry], other), ferry);
  assert.equal(pickSlot([{ ...hotel, busy: true }], [1]), undefined);
});

test("the engine answers as llama.cpp's server does", { skip }, async () => {
  const server = await startListening(["examples/real-engine/server.ts", "--slots", "1"]);
  after(() => server.child.kill());
  const port = Number(server.hosts[0]?.split(":")[1]);
  const messages = [{ role: "user", content: "Say hello to the harbour master." }];
  const usages: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } }[] = [];
  for (let i = 0; i < 2; i++) {
    const answer = await post(port, { messages, max_tokens: 4 });
    assert.equal(answer.status, 200);
    const { choices, usage } = JSON.parse(answer.body.toString());
    assert.ok(choices[0].message.content.length > 0);
    assert.ok(usage.completion_tokens > 0 && usage.completion_tokens <= 4);
    usages.push(usage);
  }
  const [cold, warm] = usages;
  assert.equal(cold?.prompt_tokens_details.cached_tokens, 0);
  // All but the last token, whose result begins the answer.
  assert.equal(warm?.prompt_tokens_details.cached_tokens, (cold?.prompt_tokens ?? 0) - 1);
  const wrong: [body: object | string, message: RegExp][] = [
    ["{", /expected JSON/],
    [{ messages: [{ role: "user" }] }, /messages: expected a list/],
    [{ messages, max_tokens: 0 }, /max_tokens: expected a whole number/],
    [{ messages, max_tokens: 5000 }, /1024 tokens at most/],
  ];
  for (const [body, message] of wrong) {
    const answer = await post(port, body);
    assert.equal(answer.status, 400);
    assert.match(JSON.parse(answer.body.toString()).error.message, message);
  }
});

test("on a real model, turns find their cache with warmroute, and lose it without", {
  skip,
}, async (t) => {
  const built = buildIfStale();
  assert.ok(built.ok);
  const [plain, warm] = (await compare(() => {})) as [Run, Run];
  t.diagnostic(report([plain, warm]).join("\n"));
  for (const { name, outcomes } of [plain, warm]) {
    assert.ok(
      outcomes.every(({ ok }) => ok),
      name,
    );
  }
  // What a cache can give is all but the last answer and the new question: nine tenths.
  const kept = promptTokens(warm, LATER_TURNS);
  const lost = promptTokens(plain, LATER_TURNS);
  // The same conversations, but for a word of an answer: with another part computed anew a model rounds differently.
  assert.ok(Math.abs(kept.all - lost.all) < 0.05 * lost.all, `${kept.all} and ${lost.all} tokens`);
  assert.ok(kept.cached > 0.8 * kept.all, `${kept.cached} of ${kept.all} cached`);
  const computed = { warm: kept.all - kept.cached, plain: lost.all - lost.cached };
  assert.ok(computed.warm < 0.6 * computed.plain, JSON.stringify(computed));
  // The filter knew it: what it expected in the caches is what the engine found there.
  const expected = warm.stats.sum("warmroute_expected_cached_tokens_total");
  const found = warm.stats.sum("warmroute_reported_cached_tokens_total");
  assert.ok(Math.abs(expected - found) < 0.15 * found, `expected ${expected}, found ${found}`);
});
