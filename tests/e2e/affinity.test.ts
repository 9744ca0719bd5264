import assert from "node:assert/strict";
import test, { after } from "node:test";
import { random, words } from "../../tools/seeded.ts";
import { startServers } from "../llm/fleet.ts";
import { gateway, inParallel, post } from "./harness.ts";

const CONVERSATIONS = 200;
const TURNS = 6;
/** Light load: so many requests at once, unless a test says otherwise. */
const AT_ONCE = 4;
/** About 2,000 tokens that every conversation begins with. */
const SYSTEM = words(random(7), 8_000);

interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

/** Where each turn of each conversation was served. */
type Served = string[][];

/** Turns of all conversations, one turn of each after the other, each on its own connection. */
async function talk(
  port: number,
  histories: Message[][],
  served: Served,
  turns: number,
  { keyed = false, atOnce = AT_ONCE } = {},
): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await inParallel(histories, atOnce, async (history, i) => {
      const rand = random(1000 * i + history.length);
      history.push({ role: "user", content: words(rand, 120) });
      const body = { model: "test-model", messages: history, max_tokens: 4 };
      const headers: Record<string, string> = keyed ? { "x-session-id": `session-${i}` } : {};
      const answer = await post(port, body, { headers });
      assert.equal(answer.status, 200, answer.body.toString());
      const text = JSON.parse(answer.body.toString()).choices[0].message.content as string;
      history.push({ role: "assistant", content: text });
      served[i]?.push(String(answer.headers["x-served-by"]));
    });
  }
}

function conversations(): Message[][] {
  return Array.from({ length: CONVERSATIONS }, () => [{ role: "system", content: SYSTEM }]);
}

function emptyServed(): Served {
  return Array.from({ length: CONVERSATIONS }, () => []);
}

/** Share of later turns on the server of their conversation's first turn. */
function kept(served: Served): number {
  const later = served.flatMap(([first, ...rest]) => rest.map((host) => host === first));
  return later.filter(Boolean).length / later.length;
}

/** First turns on the busiest server over the mean of all. */
function busiestOverMean(served: Served, hosts: string[]): number {
  const counts = hosts.map((host) => served.filter(([first]) => first === host).length);
  return (Math.max(...counts) * hosts.length) / served.length;
}

/** Ports of the servers: which conversations hash where depends on them, so they are the same in each run. */
const FIRST_PORT = 28_410;

async function fleet(): Promise<string[]> {
  const servers = await startServers(4, { port: FIRST_PORT, timeScale: 10, chunkTokens: 8 });
  after(() => servers.stop());
  return servers.addresses;
}

for (const [workers, atOnce] of [
  [2, 1],
  [2, 4],
  [4, 8],
] as const) {
  test(`${workers} workers, ${atOnce} at once: conversations stay and spread`, async () => {
    const hosts = await fleet();
    const envoy = await gateway(hosts, {}, { workers });
    const served = emptyServed();
    await talk(envoy.port, conversations(), served, TURNS, { atOnce });
    await envoy.stop();
    assert.ok(kept(served) >= 0.99, `${(kept(served) * 100).toFixed(1)} % of later turns stayed`);
    const busiest = busiestOverMean(served, hosts);
    assert.ok(busiest <= 1.3, `the busiest server has ${busiest.toFixed(2)} × the mean`);
  });
}

test("conversations find their server again after Envoy was restarted (BC-25)", async () => {
  const hosts = await fleet();
  const histories = conversations();
  const served = emptyServed();
  for (const turns of [TURNS / 2, TURNS / 2]) {
    const envoy = await gateway(hosts, {}, { workers: 2 });
    await talk(envoy.port, histories, served, turns);
    await envoy.stop();
  }
  assert.ok(kept(served) >= 0.99, `${(kept(served) * 100).toFixed(1)} % of later turns stayed`);
  const busiest = busiestOverMean(served, hosts);
  assert.ok(busiest <= 1.3, `the busiest server has ${busiest.toFixed(2)} × the mean`);
});

test("two Envoys that know nothing of each other agree on sessions (BC-25)", async () => {
  const hosts = await fleet();
  const both = await Promise.all([0, 1].map(() => gateway(hosts, {}, { workers: 2 })));
  const placed: Served[] = [];
  for (const envoy of both) {
    const served = emptyServed();
    await talk(envoy.port, conversations(), served, 1, { keyed: true });
    placed.push(served);
  }
  await Promise.all(both.map((envoy) => envoy.stop()));
  const [one = [], other = []] = placed;
  const same = one.filter(([host], i) => host === other[i]?.[0]).length / CONVERSATIONS;
  assert.ok(same >= 0.99, `they agree on ${(same * 100).toFixed(1)} % of the sessions`);
});
