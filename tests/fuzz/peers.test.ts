import assert from "node:assert/strict";
import { test } from "node:test";
import { chat } from "../filter/gateway.ts";
import { prose } from "../filter/lab.ts";
import { type Peer, PeerLab } from "../filter/peerlab.ts";
import { Random } from "./random.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 1);
const INPUTS = Number(process.env.FUZZ_RUNS ?? 20_000);
const STATUSES = new Set([200, 400, 409, 413, 503]);

test(`${INPUTS} damaged messages: nothing traps, hangs or grows, and good ones are still taken`, () => {
  console.log(`fuzz: ${INPUTS} inputs`);
  const rand = new Random(SEED);
  const below = (limit: number) => rand.below(limit);
  const next = () => rand.next();
  const lab = new PeerLab(2, { servers: 6 });
  lab.wait(1300);
  for (let i = 0; i < 30; i++) {
    lab.at(0).send(chat(prose(100 + below(40_000), next)), { worker: i % 2 });
    lab.wait(3);
  }
  lab.wait(20);
  const messages = lab.sent.filter(({ from, to }) => from === 0 && to === 1);
  const bodies = messages.map(({ call }) => call.body);
  const peer = lab.peers[1] as Peer;
  const statuses = new Map<number, number>();
  let grownBytes = 0;
  for (let i = 0; i < INPUTS; i++) {
    const body = Buffer.from(bodies[below(bodies.length)] as Buffer);
    let damaged: Buffer = body;
    // A new number each, so that damage is all that speaks against it.
    damaged.writeUInt32LE(10_000 + i, 16);
    for (let n = below(4); n > 0; n--) {
      const at = below(damaged.length);
      const kind = below(5);
      if (kind === 0) damaged.writeUInt8(below(256), at);
      else if (kind === 1) damaged = damaged.subarray(0, at);
      else if (kind === 2) damaged.subarray(at, at + 8).fill(0xff);
      else if (kind === 3) damaged.subarray(at, at + 8).fill(0);
      else damaged = Buffer.concat([damaged, damaged.subarray(at)]);
      if (damaged.length === 0) break;
    }
    const reply = peer.hear(damaged, { worker: i % 2 }).localReply;
    assert.ok(reply && STATUSES.has(reply.status), `input ${i}: ${reply?.status}`);
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
    if (i === Math.floor(INPUTS / 2)) grownBytes = peer.gateway.host.shared("warmroute").bytes;
  }
  assert.ok((statuses.get(400) ?? 0) > INPUTS / 10 && (statuses.get(200) ?? 0) > INPUTS / 10);
  assert.ok(peer.gateway.host.shared("warmroute").bytes < grownBytes * 1.2 + 200_000);
  assert.equal(peer.gateway.stat("internal_errors_total"), 0);
  // What the last of them says of others' work may hold it for as long as they count, a second.
  const request = peer.gateway.send(chat("hello"));
  lab.wait(1500);
  assert.equal(request.choice.length, 3);
  lab.wait(12_000);
  assert.deepEqual(
    lab.peers.map(({ gateway }) => gateway.stat("peers_heard")),
    [1, 1],
  );
});
