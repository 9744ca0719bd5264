import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import {
  details,
  FREE,
  full,
  H1,
  isHeld,
  isSent,
  nextSeed,
  question,
  reporting,
  status,
} from "./busy.ts";
import { chat } from "./gateway.ts";
import { prose } from "./lab.ts";

test("a full queue says no, honestly and with a time to come back", () => {
  const { gateway } = full({ queue_limit: 2 });
  const held = [gateway.send(question()), gateway.send(question())];
  const refused = gateway.send(question());
  assert.ok(held.every(isHeld));
  const reply = refused.stream.localReply;
  assert.equal(reply?.status, 429);
  assert.equal(reply?.details, "warmroute_queue_full");
  assert.match(reply?.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  assert.equal(reply?.headers.get("content-type"), "application/json");
  const { error } = JSON.parse(`${reply?.body}`) as { error: Record<string, string> };
  assert.equal(error.code, "queue_full");
  assert.equal(typeof error.message, "string");
  assert.equal(typeof error.type, "string");
  assert.equal(refused.debug("reason"), "queue_full");
  assert.equal(refused.debug("queued-ms"), "0");
  assert.equal(refused.stream.property("warmroute.reason"), "queue_full");
  assert.equal(gateway.stat("rejected_total.cause.queue_full"), 1);
  assert.equal(gateway.stat("decisions_total.reason.queue_full"), 1);
  assert.equal(gateway.stat("queue_length"), 2);
});

test("bytes are bounded like requests", () => {
  const { gateway } = full({ queue_bytes: 5000 });
  const body = () => chat(prose(2000, random(nextSeed())));
  assert.ok(isHeld(gateway.send(body())) && isHeld(gateway.send(body())));
  assert.equal(details(gateway.send(body())), "warmroute_queue_full");
  assert.ok(isHeld(gateway.send(chat("short"))));
});

test("in a full queue a higher priority takes the place of the lowest one with the most work", () => {
  const { gateway } = full({ queue_limit: 3 });
  const low = { "x-warmroute-priority": "low" };
  const small = gateway.send(question(), { headers: low });
  const large = gateway.send(chat(prose(20_000, random(6))), { headers: low });
  const normal = gateway.send(question());
  const high = gateway.send(question(), { headers: { "x-warmroute-priority": "7" } });
  gateway.host.advance(20);
  assert.equal(details(large), "warmroute_queue_full");
  assert.ok([small, normal, high].every(isHeld));
  assert.equal(status(gateway.send(question(), { headers: low })), 429, "no lower one");
  assert.equal(gateway.stat("queue_length"), 3);
});

test("a full queue makes place for a quiet tenant at the cost of the one that fills it", () => {
  const config = { affinity: { tenant_header: "x-tenant" } };
  const { gateway } = full({ queue_limit: 4 }, { config });
  const send = (tenant: string) => gateway.send(question(), { headers: { "x-tenant": tenant } });
  const loud = Array.from({ length: 6 }, () => send("loud"));
  assert.equal(loud.filter(isHeld).length, 4);
  const quiet = [send("quiet"), send("quiet"), send("quiet")] as const;
  gateway.host.advance(20);
  assert.deepEqual(quiet.map(isHeld), [true, true, false], "as much as the other, no more");
  assert.equal(loud.filter(isHeld).length, 2);
});

test("a deadline that can't be met is refused at once, one that passes while held when it passes", () => {
  for (const header of ["x-request-timeout-ms", "x-envoy-expected-rq-timeout-ms"]) {
    const { gateway } = full();
    const held = gateway.send(question(), { headers: { [header]: "800" } });
    assert.ok(isHeld(held));
    gateway.host.advance(900);
    assert.equal(details(held), "warmroute_deadline");
    for (let i = 0; i < 40; i++) gateway.send(chat(prose(60_000, random(i + 20))));
    const refused = gateway.send(chat(prose(60_000, random(60))), { headers: { [header]: "5" } });
    assert.equal(details(refused), "warmroute_deadline", header);
    assert.equal(gateway.stat("rejected_total.cause.deadline"), 2);
  }
});

test("a goal for the first token that can't be met is refused: at once, or when it is missed while held", () => {
  const { gateway, free } = full();
  const goal = (ms: number) => ({ headers: { "x-slo-ttft-ms": `${ms}` } });
  const held = [gateway.send(question(), goal(800)), gateway.send(question(), goal(60_000))];
  assert.ok(held.every(isHeld));
  gateway.host.advance(900);
  assert.deepEqual(held.map(details), ["warmroute_deadline", undefined]);
  for (let i = 0; i < 40; i++) gateway.send(chat(prose(60_000, random(nextSeed()))));
  const late = gateway.send(chat(prose(60_000, random(nextSeed()))), goal(5));
  assert.equal(details(late), "warmroute_deadline");
  assert.match(late.stream.localReply?.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  assert.equal(gateway.stat("rejected_total.cause.deadline"), 2);
  free();
  assert.ok(held.slice(1).every(isSent), "its own goal can be met");
});

test("nobody is refused for a goal while a server has room", () => {
  const gateway = reporting([H1], { [H1]: FREE });
  for (let i = 0; i < 10; i++) {
    const sent = gateway.send(chat(prose(60_000, random(nextSeed()))), {
      headers: { "x-slo-ttft-ms": "1" },
    });
    assert.ok(isSent(sent));
  }
});
