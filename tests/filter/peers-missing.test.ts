/** Gateways that go missing, come late, start anew or are too many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { chat } from "./gateway.ts";
import { prose } from "./lab.ts";
import { heardBy, met, type Peer, PeerLab } from "./peerlab.ts";

const rand = random(5);
/** About 20,000 tokens: 1.1 s of prefill. */
const heavy = () => chat(prose(80_000, rand));

test("a gateway is missed after a second, wherever the fault is, and found again", () => {
  const lab = met(3);
  for (const lost of [
    (from: number, to: number) => from === 2 || to === 2,
    (from: number) => from === 2,
    (_from: number, to: number) => to === 2,
  ]) {
    lab.delayMs = (from, to) => (lost(from, to) ? undefined : 1);
    lab.wait(8000);
    assert.deepEqual(heardBy(lab), [1, 1, 0], `${lost}`);
    lab.delayMs = () => 1;
    lab.wait(1500);
    assert.deepEqual(heardBy(lab), [2, 2, 2], `${lost}`);
  }
});

test("what is too late isn't believed: a gateway two seconds late counts as missing", () => {
  const lab = met(2);
  lab.delayMs = () => 2000;
  lab.wait(8000);
  assert.deepEqual(heardBy(lab), [0, 0]);
  lab.delayMs = () => 1;
  lab.wait(4000);
  assert.deepEqual(heardBy(lab), [1, 1]);
});

test("a clock that is set does no lasting harm", () => {
  const lab = met(2);
  for (const byMs of [3_600_000, -3_600_000]) {
    lab.at(0).host.wallAheadMs += byMs;
    lab.wait(8000);
    assert.deepEqual(heardBy(lab), [1, 1], `${byMs}`);
    assert.equal(lab.at(1).stat("internal_errors_total"), 0);
  }
});

test("during an upgrade a gateway of another version counts as missing, and nothing of it is taken", () => {
  const lab = met(3);
  lab.alter = (from, to, body) => {
    const other = Buffer.from(body);
    if (from === 2 || to === 2) other.writeUInt8(1, 3);
    return other;
  };
  lab.wait(8000);
  assert.deepEqual(heardBy(lab), [1, 1, 0]);
  for (const peer of lab.peers) assert.ok(peer.dropped("version") > 0);
  lab.at(2).send(heavy());
  lab.wait(300);
  assert.equal(lab.at(0).stat("table_entries"), 0);
  lab.alter = (_from, _to, body) => body;
  lab.wait(2000);
  assert.deepEqual(heardBy(lab), [2, 2, 2]);
});

test("a gateway with another hash_secret is noticed: its loads count, its locations don't", () => {
  const lab = met(4, {
    secrets: ["a secret of gateways", "a secret of gateways", "a secret of others", ""],
  });
  lab.wait(4000);
  assert.deepEqual(heardBy(lab), [3, 3, 3, 3]);
  const first = lab.at(0).send(heavy());
  lab.wait(300);
  const entries = lab.peers.map(({ gateway }) => gateway.stat("table_entries"));
  assert.ok((entries[0] as number) > 0);
  assert.deepEqual(entries.slice(1), [entries[0], 0, 0]);
  const sent = [first, lab.at(3).send(heavy()), lab.at(2).send(heavy()), lab.at(1).send(heavy())];
  lab.wait(300);
  const targets = sent.map(({ target }) => target);
  assert.equal(new Set(targets).size, 4, `each goes where nobody else's is: ${targets}`);
  for (const peer of lab.peers) {
    assert.ok(peer.dropped("hashes") > 0);
    const told = peer.gateway.host.logs.filter(({ message }) => message.includes("hash_secret"));
    assert.ok(told.length === 1 || told.length === 2, "once by each worker that heard it");
    assert.equal(peer.gateway.stat("internal_errors_total"), 0);
  }
  for (const secrets of [["a secret of gateways", "a secret of gateways"], []]) {
    const alike = met(2, { secrets });
    for (const peer of alike.peers) assert.equal(peer.dropped("hashes"), 0);
  }
});

test("members come from discovery, and go", () => {
  const lab = new PeerLab(3, { isDiscovered: true });
  lab.wait(4000);
  assert.deepEqual(heardBy(lab), [2, 2, 2]);
  lab.members.pop();
  lab.wait(4000);
  assert.deepEqual(
    lab.peers.slice(0, 2).map(({ gateway }) => gateway.stat("peers")),
    [1, 1],
  );
  const since = lab.nowMs;
  lab.wait(1000);
  assert.ok(!lab.sent.some(({ from, to, atMs }) => atMs > since && from < 2 && to === 2));
});

test("while a gateway is missing, servers are asked more often and new conversations have a home", () => {
  const lab = met(2, { config: { metrics: { source: "hosts" } } });
  const scrapes = (): number => {
    const before = lab.at(0).stat("scrapes_total");
    lab.wait(5000);
    return (lab.at(0).stat("scrapes_total") - before) / 5 / lab.hosts.length;
  };
  const often = scrapes();
  lab.delayMs = () => undefined;
  lab.wait(1500);
  const oftener = scrapes();
  assert.ok(often < 3 && oftener > 7, `${often} and ${oftener} a second and server`);
  const homes = Array.from({ length: 12 }, () => {
    const body = chat(prose(40_000, rand));
    const targets = lab.peers.map(({ gateway }) => {
      const exchange = gateway.send(body);
      exchange.answer();
      return exchange.target;
    });
    lab.wait(3000);
    return targets;
  });
  for (const [one, other] of homes) assert.equal(one, other);
});

test("what a gateway that isn't heard has in prefill shows in servers' counters, and only then counts", () => {
  const lab = met(2, { servers: 2, config: { metrics: { source: "hosts" } } });
  const [busy, other] = lab.hosts as [string, string];
  const chance = random(77);
  /** A server that runs one request, of whose uncached prompt so many tokens are computed. */
  const page = (missed: number, computed: number) =>
    `vllm:num_requests_running 1\nvllm:num_requests_waiting 0\n` +
    `vllm:prefix_cache_queries_total ${missed + 7000}\nvllm:prefix_cache_hits_total 7000\n` +
    `vllm:generation_tokens_total 500\nvllm:iteration_tokens_total_sum ${computed + 500}\n`;
  const shares = (): number => {
    const targets = Array.from({ length: 20 }, () => {
      const exchange = lab.at(0).send(chat(prose(2000, chance)));
      exchange.answer();
      return exchange.target;
    });
    return targets.filter((target) => target === busy).length;
  };
  // 40,000 tokens are 2.2 s of prefill.
  const work = (): number => {
    for (const host of lab.hosts) lab.pages.set(host, page(50_000, 50_000));
    lab.wait(1500);
    lab.pages.set(busy, page(90_000, 50_000));
    lab.pages.set(other, page(90_000, 90_000));
    lab.wait(1000);
    return shares();
  };
  assert.ok(work() > 3, "all gateways are heard: they would have told of it");
  lab.delayMs = () => undefined;
  lab.wait(1500);
  lab.pages.clear();
  lab.wait(1500);
  assert.equal(work(), 0);
  // Counters of a server that has started anew begin anew.
  lab.pages.set(busy, page(0, 0));
  lab.wait(1000);
  assert.ok(shares() > 3);
});

test("a lost message is sent once more", () => {
  const lab = met(2);
  const target = lab.at(0).send(heavy()).target;
  lab.wait(1200);
  const body = chat(prose(6000, rand));
  lab.delayMs = () => undefined;
  const first = lab.at(0).send(body);
  lab.wait(2);
  lab.delayMs = () => 1;
  lab.wait(700);
  assert.notEqual(first.target, target);
  assert.equal(lab.at(1).send(body).target, first.target);
  assert.equal((lab.peers[1] as Peer).dropped("replayed"), 0);
});

test("a gateway that starts anew gets the others' locations", () => {
  const lab = met(2);
  const bodies = Array.from({ length: 40 }, () => chat(prose(6000, rand)));
  const targets = bodies.map((body) => {
    const exchange = lab.at(0).send(body);
    lab.wait(20);
    exchange.answer();
    return exchange.target;
  });
  lab.restart(1);
  lab.wait(1500);
  const again = bodies.map((body) => {
    const exchange = lab.at(1).send(body);
    exchange.answer();
    return exchange.target;
  });
  assert.deepEqual(again, targets);
  assert.equal(lab.at(1).stat("table_entries"), lab.at(0).stat("table_entries"));
});

test("more gateways than there is room for are refused, and the known ones go on", () => {
  const lab = met(2);
  const peer = lab.peers[1] as Peer;
  const message = lab.sent.find(({ from, to }) => from === 0 && to === 1)?.call.body as Buffer;
  const shared = peer.gateway.host.shared("warmroute");
  for (let i = 0; i < 500; i++) {
    const copy = Buffer.from(message);
    copy.writeBigUInt64LE(BigInt(i + 1), 8);
    const status = peer.hear(copy).localReply?.status;
    assert.equal(status, i < 63 ? 200 : 503, `${i}`);
  }
  assert.equal(peer.dropped("crowded"), 437);
  assert.equal(shared.keys().filter((key) => /\/peer[^m]/.test(key)).length, 64);
  lab.wait(2000);
  assert.deepEqual(heardBy(lab), [1, 1]);
});
