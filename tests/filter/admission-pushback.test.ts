import assert from "node:assert/strict";
import { test } from "node:test";
import { int64Bytes } from "../host/abi.ts";
import { FREE, question, type Report, reporting } from "./busy.ts";
import { Gateway, hostNames, tally } from "./gateway.ts";
import { recordOf } from "./records.ts";

const [FIRST, SECOND] = hostNames(2) as [string, string];

/** Two servers that report what `reports` says, now. */
function two(reports: Record<string, Report>): Gateway {
  return reporting([FIRST, SECOND], reports);
}

/**
 * Sends requests one after another until so many were to go to the first server; there Envoy's first try fails, and the
 * second server answers.
 */
function repeatElsewhere(gateway: Gateway, count: number): void {
  let failed = 0;
  for (let tries = 0; tries < 200 && failed < count; tries++) {
    const exchange = gateway.send(question());
    if (exchange.target === FIRST) {
      failed++;
      exchange.stream.attributes.set("upstream.request_attempt_count", int64Bytes(2));
    }
    exchange.answer({ host: SECOND });
  }
  assert.equal(failed, count);
}

/** Which servers six requests at once are sent to. */
function spread(gateway: Gateway): Map<string | undefined, number> {
  const open = Array.from({ length: 6 }, () => gateway.send(question()));
  for (const exchange of open) exchange.answer();
  return tally(open.map(({ target }) => target));
}

test("a server's own 429 or 503 with retry-after is back-pressure, not a failure", () => {
  const names = hostNames(2);
  const gateway = new Gateway(names);
  const [first, second] = names as [string, string];
  for (const code of [429, 503]) {
    for (let i = 0; i < 20; i++) {
      const exchange = gateway.send(question());
      const isFirst = exchange.target === first;
      exchange.answer(isFirst ? { status: code, headers: { "retry-after": "2" } } : {});
    }
    gateway.host.advance(100);
    assert.equal(recordOf(gateway, first).failures, 0);
    const open = Array.from({ length: 6 }, () => gateway.send(question()));
    assert.deepEqual([...tally(open.map(({ target }) => target))], [[second, 6]], `${code}`);
    gateway.host.advance(4000);
    const after = Array.from({ length: 6 }, () => gateway.send(question()));
    assert.ok((tally(after.map(({ target }) => target)).get(first) ?? 0) > 0, "bounded");
    for (const exchange of [...open, ...after]) exchange.answer();
  }
});

test("a busy server's 429 that Envoy repeats elsewhere is back-pressure too, however often it comes", () => {
  const gateway = two({ [FIRST]: FREE, [SECOND]: FREE });
  for (let round = 0; round < 6; round++) {
    repeatElsewhere(gateway, 1);
    assert.deepEqual([...spread(gateway)], [[SECOND, 6]], "it is left alone for a moment");
    gateway.host.advance(2500);
    const { failures, ejections, ejectedUntilMs } = recordOf(gateway, FIRST);
    assert.deepEqual([failures, ejections, ejectedUntilMs], [0, 0, 0]);
  }
  assert.ok((spread(gateway).get(FIRST) ?? 0) > 0, "and used again");
});

test("a server that has nothing to do, or isn't heard, has no reason to push back: such tries count as failures", () => {
  for (const isHeard of [true, false]) {
    const reports: Record<string, Report> = { [SECOND]: FREE };
    if (isHeard) reports[FIRST] = { running: 0, waiting: 0, kv: 0 };
    const gateway = two(reports);
    repeatElsewhere(gateway, 3);
    assert.ok(recordOf(gateway, FIRST).ejectedUntilMs > 0);
    assert.deepEqual([...spread(gateway)], [[SECOND, 6]]);
  }
});

test("a server that takes nothing for long, and answers nobody, is set aside all the same", () => {
  const gateway = two({ [FIRST]: FREE, [SECOND]: FREE });
  let rounds = 0;
  while (rounds < 40 && recordOf(gateway, FIRST).ejections === 0) {
    repeatElsewhere(gateway, 1);
    gateway.host.advance(2500);
    rounds++;
  }
  // Five times as patient as with failures, of which three are too many.
  assert.equal(rounds, 15);
});

test("a server that died while it was at work is set aside: its last report is no reason to push back for long", () => {
  const reports: Record<string, Report> = { [FIRST]: FREE, [SECOND]: FREE };
  const gateway = two(reports);
  delete reports[FIRST];
  repeatElsewhere(gateway, 1);
  assert.equal(recordOf(gateway, FIRST).failures, 0, "not known yet");
  // Left alone for a second or two; by then two scrapes have failed. Only who is busy makes it worth trying.
  reports[SECOND] = { running: 100, waiting: 20, kv: 0.5 };
  gateway.host.advance(2100);
  repeatElsewhere(gateway, 3);
  assert.ok(recordOf(gateway, FIRST).ejectedUntilMs > 0);
  assert.deepEqual([...spread(gateway)], [[SECOND, 6]]);
});
