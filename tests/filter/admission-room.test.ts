import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { int64Bytes } from "../host/abi.ts";
import {
  FREE,
  full,
  H1,
  isHeld,
  isSent,
  learned,
  nextSeed,
  question,
  type Report,
  reporting,
  scenario,
} from "./busy.ts";
import { chat, type Exchange, Gateway, hostNames, tally } from "./gateway.ts";
import { prose } from "./lab.ts";
import { recordOf } from "./records.ts";

test("what is stale or unknown never means full (BC-34)", () => {
  const { pools } = scenario<{
    pools: {
      name: string;
      hosts: { running: number; waiting: number; kv?: number; age_ms: number }[];
    }[];
  }>("BC-34.json");
  for (const pool of pools) {
    const names = hostNames(pool.hosts.length);
    const reports: Record<string, Report> = {};
    const report = (isLate: boolean) => {
      pool.hosts.forEach((host, i) => {
        const { running, waiting, kv = 0.1, age_ms } = host;
        if (age_ms > 5000 === isLate) reports[names[i] as string] = { running, waiting, kv };
        else delete reports[names[i] as string];
      });
    };
    report(true);
    const gateway = reporting(names, reports);
    report(false);
    gateway.host.advance(6000);
    const sent = Array.from({ length: 20 }, () => {
      const exchange = gateway.send(question());
      assert.ok(isSent(exchange), `${pool.name}: dispatched`);
      return exchange.answer().target;
    });
    if (pool.name.startsWith("one late and")) {
      assert.equal(
        tally(sent).get(names[0] as string),
        undefined,
        `${pool.name}: fresh ones first`,
      );
    }
  }
});

test("all reports stale, and full when they were fresh: dispatched, and what was held goes (BC-34)", () => {
  const { gateway, reports } = full({ queue_timeout_ms: 60_000 });
  const held = gateway.send(question());
  assert.ok(isHeld(held));
  delete reports[H1];
  gateway.host.advance(6000);
  assert.ok(isSent(held));
  assert.ok(isSent(gateway.send(question())));
});

test("limits per server: only the one within its limits gets requests, a good report frees another at once (BC-36)", () => {
  const { hosts, limits } = scenario<{
    limits: { kv: number; waiting: number };
    hosts: { kv: number; waiting: number }[];
  }>("BC-36.json");
  const names = hostNames(4);
  const reports: Record<string, Report> = {};
  hosts.forEach(({ kv, waiting }, i) => {
    reports[names[i] as string] = { running: 20, waiting, kv };
  });
  const gateway = reporting(names, reports, {
    max_kv_usage: limits.kv,
    max_waiting: limits.waiting,
  });
  const [h1, , , h4] = names as [string, string, string, string];
  const warm = chat(prose(1200, random(3)));
  const first = gateway.send(warm);
  assert.equal(first.target, h4);
  first.stream.attributes.set("upstream.request_attempt_count", int64Bytes(1));
  first.answer({ host: h1 });
  const step = () =>
    Array.from({ length: 20 }, () => {
      const { target } = gateway.send(warm).answer();
      gateway.host.advance(20);
      return target;
    });
  assert.deepEqual([...tally(step())], [[h4, 20]]);
  reports[h1] = { running: 2, waiting: 0, kv: 0.3 };
  gateway.host.advance(600);
  assert.ok((tally(step()).get(h1) ?? 0) >= 10);
});

test("an idle server never queues anybody, whatever it reports of its cache", () => {
  const reports = { [H1]: { running: 0, waiting: 0, kv: 1 } };
  const gateway = reporting([H1], reports, { queue_limit: 0 });
  for (let i = 0; i < 5; i++) assert.ok(isSent(gateway.send(question()).answer()));
  assert.equal(gateway.stat("rejected_total.cause.queue_full"), 0);
});

test("the expected wait counts once the speed was learned", () => {
  const gateway = new Gateway([H1], { config: { admission: { max_wait_ms: 200 } } });
  const long = () => chat(prose(40_000, random(nextSeed())));
  const unlearned = Array.from({ length: 6 }, () => gateway.send(long()));
  assert.ok(unlearned.every(isSent));
  gateway.host.advance(3000);
  for (const exchange of unlearned) exchange.answer({ promptTokens: 10_000 });
  gateway.host.advance(100);
  assert.ok(recordOf(gateway, H1).prefillFactor > 0);
  const learned = Array.from({ length: 6 }, () => gateway.send(long()));
  assert.ok(isSent(learned[0] as Exchange));
  assert.ok(isHeld(learned[5] as Exchange));
  for (let round = 0; round < 200 && gateway.stat("queue_length") > 0; round++) {
    const sent = learned.find((exchange) => isSent(exchange) && !exchange.stream.finished);
    sent?.answer({ promptTokens: 10_000 });
    gateway.host.advance(20);
  }
  assert.ok(learned.every(isSent), "completions wake the others");
});

test("while every server would let a request wait it is held, and the shortest goes first", () => {
  const gateway = learned();
  const long = () => gateway.send(chat(prose(40_000, random(nextSeed()))));
  const busy = [long(), long()];
  assert.ok(busy.every(isSent), "an idle server takes it at once");
  assert.equal(new Set(busy.map(({ target }) => target)).size, 2);
  const held = [long(), gateway.send(question())] as [Exchange, Exchange];
  assert.ok(held.every(isHeld), "no server is full, but none could start it soon");
  busy[1]?.answer({ promptTokens: 10_000 });
  gateway.host.advance(2);
  assert.ok(isSent(held[1]), "its completion lets the short one go");
  assert.equal(held[1].target, busy[1]?.target);
  assert.equal(gateway.stat("rejected_total.cause.queue_full"), 0);
});

test("one free server is enough: nothing is held", () => {
  const gateway = learned();
  const busy = gateway.send(chat(prose(60_000, random(nextSeed()))));
  for (let i = 0; i < 3; i++) {
    const short = gateway.send(question());
    assert.ok(isSent(short));
    assert.notEqual(short.target, busy.target);
    short.answer();
    gateway.host.advance(20);
  }
});

test("a tenant with nobody waiting is bound at once while another's requests wait for a server to be free", () => {
  const config = { affinity: { tenant_header: "x-tenant" } };
  const gateway = learned({}, { config });
  const send = (tenant: string) =>
    gateway.send(chat(prose(8000, random(nextSeed()))), { headers: { "x-tenant": tenant } });
  const flood = Array.from({ length: 8 }, () => send("loud"));
  assert.equal(flood.filter(isSent).length, 2, "one for each server");
  const [first, second] = [send("quiet"), send("quiet")] as [Exchange, Exchange];
  assert.ok(isSent(first), "it has had less than its share");
  assert.ok(isHeld(second), "and now its share");
  assert.ok(isHeld(send("loud")));
});

test("late binding refuses nobody whom a server would take in time", () => {
  const gateway = learned({ queue_limit: 2 });
  const sent = Array.from({ length: 12 }, () =>
    gateway.send(chat(prose(8000, random(nextSeed())))),
  );
  assert.equal(sent.filter(isHeld).length, 2);
  assert.equal(sent.filter(isSent).length, 10);
});

test("shadow mode and admission.enabled: false hold nobody", () => {
  for (const config of [{ routing: { mode: "shadow" } }, { admission: { enabled: false } }]) {
    const { gateway } = full({}, { config });
    assert.ok(isSent(gateway.send(question())));
  }
});

test("heavy prompts are held to their share of the room, light ones go past them", () => {
  const names = hostNames(2);
  const reports = Object.fromEntries(names.map((name) => [name, { ...FREE, waiting: 40 }]));
  const gateway = reporting(names, reports, { heavy_prompt_tokens: 5000, heavy_share: 0.5 });
  const heavy = gateway.send(chat(prose(40_000, random(10))));
  assert.ok(isHeld(heavy));
  const light = gateway.send(question());
  gateway.host.advance(20);
  assert.ok(isSent(light));
  assert.ok(isHeld(heavy));
  for (const name of names) reports[name] = { ...FREE, waiting: 4 };
  gateway.host.advance(700);
  assert.ok(isSent(heavy));
});

test("servers thousands of times as fast as the prior: once that was learned nothing is held", () => {
  const names = hostNames(3);
  const gateway = new Gateway(names);
  const batch = () =>
    Array.from({ length: 15 }, () => gateway.send(chat(prose(64_000, random(nextSeed())))));
  let held = 0;
  for (let round = 0; round < 40; round++) {
    const sent = batch();
    held = sent.filter(isHeld).length;
    gateway.host.advance(5);
    for (let tries = 0; tries < 40 && sent.some(({ stream }) => !stream.finished); tries++) {
      for (const exchange of sent) {
        if (isSent(exchange) && !exchange.stream.finished)
          exchange.answer({ promptTokens: 16_000 });
      }
      gateway.host.advance(5);
    }
  }
  assert.equal(held, 0);
  // Five of 16,000 tokens in 5 ms or so, where the prior says 880 ms for each.
  for (const name of names) assert.ok(recordOf(gateway, name).prefillFactor < 0.02);
});
