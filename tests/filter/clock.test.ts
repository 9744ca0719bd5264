/** The machine's wall clock is set, far forward or back, while requests are under way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BUSY, full, H1, isHeld, isSent, question, status } from "./busy.ts";
import { chat, Gateway, hostNames } from "./gateway.ts";
import { recordOf } from "./records.ts";

const HOUR_MS = 3_600_000;

for (const byMs of [HOUR_MS, -HOUR_MS]) {
  const set = `set by ${byMs / HOUR_MS} h`;

  test(`${set}: who is held waits as long as before, and goes when a server has room`, () => {
    const { gateway, free } = full({ queue_timeout_ms: 3000 });
    const first = gateway.send(question());
    gateway.host.advance(1000);
    gateway.host.wallAheadMs = byMs;
    const second = gateway.send(question());
    gateway.host.advance(1800);
    assert.ok(isHeld(first) && isHeld(second));
    gateway.host.advance(400);
    assert.equal(status(first), 429);
    assert.ok(isHeld(second));
    free();
    assert.ok(isSent(second));
  });

  test(`${set}: reports are taken as they come, and none is younger than it is`, () => {
    const { gateway, reports } = full();
    gateway.host.wallAheadMs = byMs;
    reports[H1] = { ...BUSY, running: 7 };
    gateway.host.advance(700);
    assert.equal(recordOf(gateway, H1).running, 7);
    delete reports[H1];
    gateway.host.advance(6000);
    assert.equal(gateway.stat("stale_hosts"), 1);
  });

  test(`${set}: a server that was set aside comes back in its time`, () => {
    const hosts = hostNames(2);
    const [bad] = hosts as [string];
    const gateway = new Gateway(hosts, { config: { health: { failures: 2, eject_ms: 1000 } } });
    const ask = (i: number) => {
      const exchange = gateway.send(chat(`question ${i * 7919}`));
      exchange.answer(exchange.target === bad ? { status: 500 } : {});
      return exchange;
    };
    for (let i = 0; i < 40; i++) ask(i);
    assert.ok(recordOf(gateway, bad).ejectedUntilMs > 0);
    gateway.host.wallAheadMs = byMs;
    for (let i = 40; i < 80; i++) assert.ok(!ask(i).choice.includes(bad), "still aside");
    gateway.host.advance(1100);
    const later = Array.from({ length: 40 }, (_, i) => gateway.send(chat(`late ${i * 7919}`)));
    assert.ok(
      later.some(({ target }) => target === bad),
      "a trial",
    );
  });
}
