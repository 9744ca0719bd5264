import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { isHeld, isSent } from "./busy.ts";
import { chat, type Exchange } from "./gateway.ts";
import { prose } from "./lab.ts";
import { met, type PeerLab } from "./peerlab.ts";

const rand = random(23);
/** 5,000 tokens at 0.5 ms: 2.5 s of prefill, so a proposal is held for 50 ms at most. */
const HEAVY_BYTES = 20_000;
const SLOW = { cost: { learn: false, prefill_ms_per_token: 0.5 } };
const HELD_MAX_MS = 51;

const gateways = (count: number): PeerLab => met(count, { servers: 4, config: SLOW });
const heavy = (lab: PeerLab, gateway: number, worker = 0): Exchange =>
  lab.at(gateway).send(chat(prose(HEAVY_BYTES, rand)), { worker });

/** How many prompts a gateway proposed, moved, and held for as long as it may. */
const counts = (lab: PeerLab, gateway: number): number[] =>
  ["", "_moved", "_expired"].map((kind) => lab.at(gateway).stat(`peer_proposals${kind}_total`));

/** Lets time pass until a request is sent; ms. */
function sentAfter(lab: PeerLab, exchange: Exchange, mostMs = 1000): number {
  const from = lab.nowMs;
  while (!isSent(exchange) && lab.nowMs - from < mostMs) lab.wait(1);
  return lab.nowMs - from;
}

/** Eight heavy prompts within `spreadMs`, two a gateway; how many each server got. */
function round(lab: PeerLab, chance: () => number, spreadMs: number): number[] {
  const atMs = Array.from({ length: 8 }, () => Math.floor(chance() * spreadMs));
  const sent: Exchange[] = [];
  for (let ms = 0; ms < spreadMs + HELD_MAX_MS; ms++) {
    atMs.forEach((at, i) => {
      if (at === ms) sent.push(heavy(lab, i % 4, i >> 2));
    });
    lab.wait(1);
  }
  assert.ok(sent.length === 8 && sent.every(isSent));
  const counts = lab.hosts.map((host) => sent.filter(({ target }) => target === host).length);
  for (const exchange of sent) exchange.answer();
  lab.wait(400);
  return counts;
}

for (const [spreadMs, mostMs] of [
  [1, 3],
  [4, 2],
  [8, 5],
  [20, 5],
] as const) {
  test(`eight heavy prompts within ${spreadMs} ms go two to a server, messages taking up to ${mostMs} ms`, () => {
    const chance = random(spreadMs);
    const lab = gateways(4);
    // Of two messages the later may come first.
    lab.delayMs = () => 1 + Math.floor(chance() * mostMs);
    for (let i = 0; i < 10; i++) assert.deepEqual(round(lab, chance, spreadMs), [2, 2, 2, 2]);
  });
}

test("a heavy prompt waits for the others' answers, and for no more where nobody else proposes", () => {
  const lab = gateways(3);
  const exchange = heavy(lab, 0);
  assert.ok(isHeld(exchange));
  assert.equal(sentAfter(lab, exchange), 3, "there and back in 1 ms each, and a tick");
  const told = lab.messagesOf(0, lab.nowMs - 4);
  assert.deepEqual(
    told.map(({ update }) => update.placements.length),
    [0, 1],
    "a proposal places nothing in a cache",
  );
  assert.deepEqual(
    told.map(({ update }) => update.rows.map(({ waiting }) => waiting)),
    [[1], [1]],
  );
  lab.wait(100);
  assert.equal(lab.at(0).inFlight(exchange.target as string), 1);
});

test("proposals are counted, and those of them that went elsewhere", () => {
  const lab = gateways(4);
  const all = () => lab.peers.map((_, gateway) => counts(lab, gateway));
  for (const each of all()) assert.deepEqual(each, [0, 0, 0]);
  const known = prose(8000, rand);
  const first = lab.at(3).send(chat(known));
  lab.wait(100);
  first.answer();
  lab.wait(400);
  // All would go where a fifth of the prompt is cached, but not behind each other.
  const sent = [0, 1, 2].map((i) => lab.at(i).send(chat(known + prose(32_000, rand))));
  lab.wait(100);
  const moved = sent.map(({ target }) => (target === first.target ? 0 : 1));
  assert.ok(moved.some((one) => one > 0));
  assert.deepEqual(all(), [...moved.map((one) => [1, one, 0]), [1, 0, 0]]);
});

test("what isn't heavy goes at once, and so does anything where nobody is heard", () => {
  const lab = gateways(2);
  assert.ok(isSent(lab.at(0).send(chat(prose(3000, rand)))));
  lab.delayMs = () => undefined;
  lab.wait(1500);
  assert.ok(isSent(heavy(lab, 0)));
  assert.ok(isSent(heavy(gateways(1), 0)));
});

test("others that don't answer hold a heavy prompt for a fiftieth of its prefill", () => {
  const lab = gateways(2);
  lab.delayMs = () => undefined;
  const heldMs = sentAfter(lab, heavy(lab, 0));
  assert.ok(heldMs > HELD_MAX_MS / 2 && heldMs <= HELD_MAX_MS, `${heldMs} ms`);
  assert.deepEqual(counts(lab, 0), [1, 0, 1]);
});

test("a client that leaves a proposed prompt leaves nothing counted, and keeps nobody waiting", () => {
  const lab = gateways(3);
  for (const gateway of [0, 1, 2]) {
    const gone = heavy(lab, gateway);
    lab.wait(1);
    assert.ok(isHeld(gone));
    gone.stream.clientReset();
    lab.wait(300);
    for (const host of lab.hosts) assert.equal(lab.at(gateway).inFlight(host), 0);
  }
  // Each in its own round trip: no proposal is open any more.
  for (const gateway of [0, 1, 2]) {
    const exchange = heavy(lab, gateway);
    assert.equal(sentAfter(lab, exchange), 3);
    exchange.answer();
    lab.wait(300);
  }
  lab.wait(1100);
  for (const gateway of [0, 1, 2]) {
    const full = lab.messagesOf(gateway).filter(({ update }) => update.isFull);
    assert.deepEqual(
      full.at(-1)?.update.rows.map(({ waiting }) => waiting),
      [0, 0, 0, 0],
    );
  }
});

test("a worker that ends lets proposed prompts go", () => {
  const lab = gateways(2);
  const exchange = heavy(lab, 0, 1);
  assert.ok(isHeld(exchange));
  lab.at(0).host.vms[1]?.shutdown();
  assert.ok(isSent(exchange));
});
