/** Servers that take requests and say nothing: who waits there is served by another, and who is merely slow is waited for. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  assertNothingLost,
  assertSettled,
  figure,
  round,
  servers,
  shipped,
  until,
  wait,
} from "./faults.ts";
import { post } from "./harness.ts";
import { Traffic } from "./traffic.ts";

/** As shipped but for this: 60 s there. */
const SILENCE_MS = 1500;
const STRUCK_REQUESTS = 1000;

for (const stream of [true, false]) {
  const what = stream ? "streams" : "answers in one piece";
  test(`a server that takes requests and never answers gets few, and those are served by others: ${what}`, async () => {
    const fleet = await servers(4);
    const envoy = await shipped(fleet.addresses, { health: { silence_ms: SILENCE_MS } });
    // Patient: on a busy machine answers are expected late, and the next server is asked later.
    const traffic = new Traffic(envoy.port, { clients: 32, stream, timeoutMs: 90_000 });
    await wait(800);
    const struckMs = traffic.now();
    await fleet.fault(1, { kind: "hang" });
    const host = fleet.addresses[1] as string;
    const met = () => traffic.since(struckMs).filter(({ choice }) => choice.startsWith(host));
    await until("one whom it meets", () => met().length > 0);
    await until("requests meanwhile", () => traffic.since(struckMs).length >= STRUCK_REQUESTS);
    await traffic.stop();
    const longestMs = Math.max(...traffic.outcomes.map(({ sentMs, endedMs }) => endedMs - sentMs));
    figure(
      `one never answers (${what})`,
      traffic,
      `${met().length} waited there first, ${round(longestMs)} ms at most`,
    );
    assertNothingLost(traffic);
    assert.equal(traffic.broken().length, 0);
    // A quarter were its share.
    assert.ok(met().length < STRUCK_REQUESTS / 20, `${met().length} met it`);
    await assertSettled(envoy);
  });
}

test("a server that is only slow is waited for, though others were asked as well", async () => {
  const fleet = await servers(3);
  const envoy = await shipped(fleet.addresses, {
    health: { silence_ms: 200 },
    cost: { learn: false },
  });
  const messages = [{ role: "user", content: "Which berth is free? ".repeat(300) }];
  const ask = () => post(envoy.port, { model: "test-model", messages, max_tokens: 2 });
  const home = String((await ask()).headers["x-warmroute-host"]);
  // The first try alone can be answered.
  for (const [i, host] of fleet.addresses.entries()) {
    await fleet.fault(i, host === home ? { kind: "delay", delayMs: 2000 } : { kind: "hang" });
  }
  const { status, headers } = await ask();
  assert.equal(status, 200);
  assert.equal(String(headers["x-warmroute-choice"]).split(",")[0], home);
  assert.equal(headers["x-warmroute-host"], home);
  assert.equal(headers["x-served-by"], home);
  assert.match(await envoy.admin("/stats?filter=llm.upstream_rq_retry$"), /: [1-9]/);
  for (let i = 0; i < fleet.servers.length; i++) await fleet.fault(i, { kind: "clear" });
  assert.equal((await ask()).headers["x-warmroute-reason"], "prefix", "nothing speaks against it");
  await assertSettled(envoy);
});
