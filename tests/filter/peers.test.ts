import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { chat, type Exchange, tally } from "./gateway.ts";
import { prose } from "./lab.ts";
import { heardBy, met, PEER_PATH, type Peer } from "./peerlab.ts";

const rand = random(5);
/** About 20,000 tokens: 1.1 s of prefill. */
const heavy = () => chat(prose(80_000, rand));
/** About 900 tokens: worth telling at once, but not whatever the gap. */
const middle = () => chat(prose(3_600, rand));
const light = () => chat("hello");

/** All that the VMs of a gateway share, but what changes with time alone. */
function tables(peer: Peer): string {
  const shared = peer.gateway.host.shared("warmroute");
  return shared
    .keys()
    .filter((key) => /\/(peer|loc|outbox)/.test(key))
    .map((key) => `${key}=${shared.get(key)?.value.toString("base64")}`)
    .join("\n");
}

test("gateways find each other, and themselves among the members", () => {
  const lab = met(3);
  assert.deepEqual(heardBy(lab), [2, 2, 2]);
  assert.deepEqual(
    lab.peers.map(({ gateway }) => gateway.stat("peers")),
    [2, 2, 2],
  );
  const since = lab.nowMs;
  lab.wait(10_000);
  const idle = lab.sent.filter(({ atMs }) => atMs > since);
  assert.ok(!idle.some(({ from, to }) => from === to), "nobody tells itself");
  const perSecond = idle.length / 10 / 6;
  assert.ok(perSecond >= 3 && perSecond <= 5, `${perSecond} messages a second to each`);
});

test("what gateways tell each other holds no prompt, session, tenant, model or token", () => {
  const lab = met(2, { config: { affinity: { tenant_header: "x-tenant" } } });
  const CANARY = "canary7f3a";
  const headers = {
    "x-tenant": CANARY,
    "x-session-id": CANARY,
    authorization: `Bearer ${CANARY}`,
  };
  for (let i = 0; i < 8; i++) {
    const messages = [{ role: "user", content: `${CANARY} ${prose(8_000, rand)} ${CANARY}` }];
    const body = { model: CANARY, user: CANARY, cache_salt: CANARY, messages };
    lab
      .at(0)
      .send(body, { worker: i % 2, headers })
      .answer();
    lab.wait(40);
  }
  lab.wait(1500);
  const bodies = lab.sent.map(({ call }) => call.body.toString("latin1"));
  assert.ok(lab.messagesOf(0, 0).some(({ update }) => update.placements.length > 0));
  for (const body of bodies) assert.ok(!body.includes(CANARY.slice(0, 6)));
});

test("a prompt with much to compute is told at once, at most one message in a gap; others ride along", () => {
  const lab = met(2);
  const since = lab.nowMs;
  const busy = lab.at(0);
  busy.send(middle());
  busy.send(middle(), { worker: 1 });
  busy.send(light());
  lab.wait(12);
  const told = lab.messagesOf(0, since);
  assert.deepEqual(
    told.map(({ update }) => update.placements.length),
    [1, 2],
  );
  const [first, second] = told as [(typeof told)[0], (typeof told)[0]];
  assert.equal(first.atMs, since);
  assert.ok(second.atMs - since >= 5 && second.atMs - since <= 8, `${second.atMs - since} ms`);
  assert.ok(first.update.placements.every(({ ids }) => ids.length > 5));
  assert.ok(Math.abs((first.update.rows[0]?.workMs ?? 0) - 50) < 5);
  const heavyMs = lab.nowMs;
  busy.send(heavy());
  busy.send(heavy());
  assert.equal(lab.messagesOf(0, heavyMs).length, 2, "what is heavy isn't told later");
  lab.wait(10);
  assert.deepEqual(
    lab.messagesOf(0, heavyMs).map(({ update }) => update.placements.length),
    [0, 0, 1, 1],
    "as proposals first",
  );
  lab.at(1).send(light());
  const quiet = lab.nowMs;
  lab.wait(260);
  const [later] = lab.messagesOf(1, quiet).filter(({ update }) => update.placements.length > 0);
  assert.ok(later && later.atMs > quiet, "a light prompt waits for the next message");
});

test("one Envoy has one voice, however many workers it has", () => {
  const lab = met(2, { workers: 6 });
  const since = lab.nowMs;
  for (let i = 0; i < 60; i++) {
    lab.at(0).send(middle(), { worker: i % 6 });
    lab.wait(1);
  }
  lab.wait(300);
  const told = lab.messagesOf(0, since);
  const numbers = told.map(({ update }) => update.sequence);
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => (numbers[0] as number) + i),
  );
  assert.equal(new Set(told.map(({ update }) => update.gateway)).size, 1);
  assert.equal(
    told.reduce((sum, { update }) => sum + update.placements.length, 0),
    60,
  );
  const gaps = told.slice(1).map(({ atMs }, i) => atMs - (told[i]?.atMs ?? 0));
  assert.ok(Math.min(...gaps) >= 5, `${gaps}`);
  const waiting = new Map(
    told.flatMap(({ update }) => update.rows.map((r) => [r.host, r.waiting])),
  );
  assert.equal(
    [...waiting.values()].reduce((sum, n) => sum + n, 0),
    60,
  );
});

for (const [what, options] of [
  ["", {}],
  ["clocks an hour apart", { aheadMs: [0, 3_600_000, -3_600_000, 17] }],
  ["eight workers each", { workers: 8 }],
] as const) {
  test(`heavy prompts spread evenly over gateways, conversations go on where they are; ${what}`, () => {
    const lab = met(4, options as never);
    const sent: Exchange[] = [];
    for (let i = 0; i < 8; i++) {
      sent.push(lab.at(i % 4).send(heavy()));
      lab.wait(10);
    }
    assert.deepEqual([...tally(sent.map(({ target }) => target)).values()], [2, 2, 2, 2]);
    const messages = [{ role: "user", content: prose(4000, rand) }];
    let last: Exchange | undefined;
    for (let turn = 0; turn < 9; turn++) {
      lab.wait(3000);
      const next = lab.at(turn % 4).send({ model: "m1", messages });
      if (last) assert.equal(next.target, last.target, `turn ${turn}`);
      lab.wait(20);
      next.answer();
      if (turn > 0) assert.equal(next.debug("reason"), "prefix");
      messages.push({ role: "assistant", content: "ok" });
      messages.push({ role: "user", content: prose(1000, rand) });
      last = next;
    }
  });
}

test("a message that came before, or is damaged, too long or of another version, changes nothing and is counted", () => {
  const lab = met(2);
  lab.at(0).send(heavy());
  lab.wait(10);
  const told = lab.sent.filter(({ from, to }) => from === 0 && to === 1);
  const message = told.map(({ call }) => call.body).find((body) => body.readUInt16LE(20) > 0);
  assert.ok(message);
  const other = (change: (copy: Buffer) => void): Buffer => {
    const copy = Buffer.from(message);
    change(copy);
    return copy;
  };
  const peer = lab.peers[1] as Peer;
  const before = tables(peer);
  const cases: [name: string, body: Uint8Array | string, status: number, cause: string][] = [
    ["again", message, 409, "replayed"],
    ["cut", message.subarray(0, message.length - 1), 400, "garbled"],
    ["longer", Buffer.concat([message, Buffer.alloc(1)]), 400, "garbled"],
    ["other text", "POST / HTTP/1.1", 400, "garbled"],
    ["next version", other((copy) => copy.writeUInt8(copy.readUInt8(3) + 1, 3)), 400, "version"],
    ["unknown kind", other((copy) => copy.writeUInt8(9, 4)), 400, "garbled"],
    ["nobody's", other((copy) => copy.writeBigUInt64LE(0n, 8)), 400, "garbled"],
    ["NaN work", other((copy) => copy.writeFloatLE(Number.NaN, 76)), 400, "garbled"],
    ["endless work", other((copy) => copy.writeFloatLE(1e30, 76)), 400, "garbled"],
    ["held for longer than can be", other((copy) => copy.writeFloatLE(1e30, 56)), 400, "garbled"],
    ["negative clock", other((copy) => copy.writeDoubleLE(-1, 88)), 400, "garbled"],
    ["too long", Buffer.alloc(70_000), 413, "oversized"],
  ];
  for (const [name, body, status, cause] of cases) {
    const dropped = peer.dropped(cause);
    const reply = peer.hear(body).localReply;
    assert.equal(reply?.status, status, name);
    assert.ok((reply?.body.length ?? 0) > 0, "says what was expected");
    if (cause !== "oversized") assert.equal(peer.dropped(cause), dropped + 1, name);
  }
  assert.equal(tables(peer), before);
  assert.equal(peer.gateway.stat("internal_errors_total"), 0);
});

test("the internal listener answers messages and nothing else; the public one treats them as any request", () => {
  const lab = met(2);
  const peer = lab.peers[0] as Peer;
  for (const [path, method] of [
    ["/v1/chat/completions", "POST"],
    [PEER_PATH, "GET"],
    [`${PEER_PATH}/`, "POST"],
    [`${PEER_PATH}?x`, "POST"],
  ] as const) {
    assert.equal(peer.hear("x", { path, method }).localReply?.status, 404, `${method} ${path}`);
  }
  assert.equal(peer.hear("").localReply?.status, 400);
  const message = lab.sent.find(({ from }) => from === 1)?.call.body as Buffer;
  const before = tables(peer);
  const received = peer.gateway.stat("peer_messages_received_total");
  const exchange = peer.gateway.send(message, { path: PEER_PATH });
  assert.equal(exchange.stream.localReply, undefined);
  assert.ok(exchange.stream.request.sentEnd);
  assert.equal(peer.gateway.stat("peer_messages_received_total"), received);
  assert.equal(tables(peer), before);
});

test("an answer that one gateway passed on is asked for, and gone on from, through another at its server", () => {
  const lab = met(3);
  const path = "/v1/responses";
  const homes = new Map<string, string | undefined>();
  for (let i = 0; i < 9; i++) {
    const id = `resp_${i}`;
    const asked = lab.at(i % 3).send({ model: "m", input: prose(400, rand) }, { path });
    homes.set(id, asked.answer({ id }).target);
    lab.wait(30);
  }
  lab.wait(1500);
  assert.ok(new Set(homes.values()).size > 1);
  for (const [id, home] of homes) {
    for (const gateway of [0, 1, 2]) {
      for (const worker of [0, 1]) {
        const options = { worker, method: "GET", path: `${path}/${id}` };
        assert.deepEqual(lab.at(gateway).send("", options).choice, [home], `${id} of ${gateway}`);
      }
    }
  }
  for (const [id, home] of homes) {
    const body = { model: "m", input: prose(400, rand), previous_response_id: id };
    const next = lab.at(2).send(body, { path, worker: 1 }).answer();
    assert.equal(next.target, home);
    lab.wait(30);
  }
});
