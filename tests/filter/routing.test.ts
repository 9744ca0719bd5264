import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { chat, type Exchange, Gateway, hostNames, tally } from "./gateway.ts";

const fixture = (name: string, folder = "bodies") =>
  readFileSync(new URL(`../fixtures/${folder}/${name}`, import.meta.url), "utf8");

/** A conversation's messages, `turns` user turns long. */
function conversation(name: string, turns: number, system = ""): Record<string, unknown> {
  const messages: { role: string; content: string }[] = [];
  if (system) messages.push({ role: "system", content: system });
  for (let turn = 0; turn < turns; turn++) {
    if (turn > 0) messages.push({ role: "assistant", content: `answer ${turn} to ${name}` });
    messages.push({ role: "user", content: `${name}: question ${turn}. ${name.repeat(20)}` });
  }
  return { model: "m1", messages };
}

test("later turns go where the conversation's cache is, conversations spread, a shared prompt or not", () => {
  const system = "You are the archive clerk of a maritime museum. ".repeat(170);
  for (const shared of ["", system]) {
    const gateway = new Gateway(hostNames(4), { workers: 2 });
    const homes = new Map<number, string>();
    let stayed = 0;
    for (let turn = 1; turn <= 4; turn++) {
      for (let c = 0; c < 200; c++) {
        const exchange = gateway.send(conversation(`talk-${c}`, turn, shared), { worker: c % 2 });
        exchange.answer();
        gateway.host.advance(5);
        if (turn === 1) homes.set(c, exchange.target ?? "");
        else if (exchange.target === homes.get(c)) stayed++;
      }
    }
    assert.ok(stayed >= 0.99 * 600, `${stayed} of 600 stayed`);
    const busiest = Math.max(...tally(homes.values()).values());
    assert.ok(busiest <= 1.3 * 50, `busiest has ${busiest} of 200`);
  }
});

test("a prefix matches from the start, not from the middle (BC-18)", () => {
  const gateway = new Gateway(hostNames(2));
  const options = { path: "/v1/completions" };
  const b = gateway.send({ model: "m1", prompt: "Fog again over the breakwater." }, options);
  b.answer();
  const a = gateway.send({ model: "m1", prompt: "What a bright morning in the port." }, options);
  a.answer();
  const text = "Fog again over the breakwater. What a bright morning in the port.";
  const both = gateway.send({ model: "m1", prompt: text }, options);
  assert.equal(both.target, b.target);
});

test("requests that share a system prompt share its blocks; the same text in another role doesn't (BC-18)", () => {
  const gateway = new Gateway(hostNames(3));
  gateway.send(fixture("BC-18a.json")).answer();
  const b = gateway.send(fixture("BC-18b.json")).answer();
  const cached = Number(b.debug("cached-tokens"));
  assert.ok(cached >= 1900 / 4.5, `${cached} tokens`);
  const c = gateway.send(fixture("BC-18c.json")).answer();
  assert.equal(c.debug("cached-tokens"), "0");
});

test("unrelated prompts match nothing and spread; salts, adapters, models and tenants keep keys apart (BC-19)", () => {
  const cases = JSON.parse(fixture("BC-19.json", "cases")) as {
    requests: unknown[];
    salted: Record<string, unknown>[];
    salted_messages: unknown[];
  };
  const gateway = new Gateway(hostNames(3), {
    config: { affinity: { tenant_header: "x-tenant" } },
  });
  const seen = new Set<string>();
  const targets: (string | undefined)[] = [];
  for (const request of cases.requests) {
    const exchange = gateway.send(request).answer();
    const text = JSON.stringify(request);
    if (!seen.has(text)) assert.equal(exchange.debug("cached-tokens"), "0", text);
    seen.add(text);
    targets.push(exchange.target);
  }
  for (const [host, count] of tally(targets)) assert.ok(count <= 45, `${host} got ${count}`);
  const keys = new Set<string | undefined>();
  for (const variant of cases.salted) {
    const { tenant, ...fields } = variant as { tenant?: string };
    const headers = tenant ? { "x-tenant": tenant } : {};
    const request = { ...fields, messages: cases.salted_messages };
    keys.add(gateway.send(request, { headers }).answer().debug("key"));
  }
  assert.equal(keys.size, 5);
});

test("one after another, different idle requests use every host (BC-21)", () => {
  const gateway = new Gateway(hostNames(4));
  const targets: (string | undefined)[] = [];
  for (let i = 0; i < 40; i++)
    targets.push(gateway.send(chat(`question ${i * 7919}`)).answer().target);
  assert.equal(tally(targets).size, 4);
});

test("a host that fails fast is set aside instead of drawing traffic (BC-21)", () => {
  const hosts = hostNames(4);
  const bad = hosts[1] as string;
  const gateway = new Gateway(hosts);
  const open: Exchange[] = [];
  let toBad = 0;
  for (let i = 0; i < 100; i++) {
    const exchange = gateway.send(chat(`prompt number ${i * 104729}`));
    if (exchange.target === bad) {
      toBad++;
      gateway.host.advance(2);
      exchange.answer({ status: 503 });
    } else {
      open.push(exchange);
      if (open.length >= 8) {
        gateway.host.advance(250);
        (open.shift() as Exchange).answer();
      }
    }
  }
  assert.ok(toBad <= 15, `${toBad} of 100 went to the failing host`);
});

test("a host set aside gets one trial request when its time is over, and comes back when that is well", () => {
  const hosts = hostNames(2);
  const bad = hosts[0] as string;
  const gateway = new Gateway(hosts, { config: { health: { failures: 2, eject_ms: 1000 } } });
  const send = (i: number) => gateway.send(chat(`trial ${i} ${i * 7919}`));
  let failed = 0;
  for (let i = 0; failed < 2; i++) {
    const exchange = send(i);
    if (exchange.target === bad) {
      failed++;
      exchange.answer({ status: 500 });
    } else exchange.answer();
  }
  for (let i = 100; i < 130; i++) {
    const exchange = send(i);
    assert.notEqual(exchange.target, bad);
    assert.ok(!exchange.choice.includes(bad), "what isn't usable is no fallback either");
    exchange.answer();
  }
  gateway.host.advance(1100);
  const open = Array.from({ length: 40 }, (_, i) => send(200 + i));
  const trials = open.filter((exchange) => exchange.target === bad);
  assert.equal(trials.length, 1);
  for (const exchange of open) exchange.answer();
  const later = Array.from({ length: 40 }, (_, i) => send(300 + i).answer().target);
  assert.ok(later.filter((target) => target === bad).length > 5);
});

test("when a host leaves, only its sessions move; workers and restarts agree (BC-25)", () => {
  const hosts = hostNames(4);
  const home = (gateway: Gateway, i: number, worker = 0) =>
    gateway.send(chat("hello"), { worker, headers: { "x-session-id": `s-${i}` } });
  const before = new Gateway(hosts, { workers: 2 });
  const restarted = new Gateway(hosts);
  const after = new Gateway(hosts.filter((_, i) => i !== 2));
  let moved = 0;
  for (let i = 0; i < 1000; i++) {
    const was = home(before, i).answer().target;
    assert.equal(home(before, i, 1).answer().target, was);
    assert.equal(home(restarted, i).answer().target, was);
    const now = home(after, i).answer().target;
    if (now !== was) {
      moved++;
      assert.equal(was, hosts[2], "only the sessions of the host that left move");
    }
  }
  assert.ok(moved <= 300, `${moved} of 1000 moved`);
});

test("a head that conversations share binds no session whose name is new, and no later turn (BC-25)", () => {
  const system = { role: "system", content: "You are of use. ".repeat(600) };
  const user = (content: string) => ({ role: "user", content });
  const first = (i: number) => [system, user(`question ${i}, and nothing like it before`)];
  const later = (i: number) => [...first(i), { role: "assistant", content: "Yes." }, user("And?")];
  const named = (i: number) => ({ "x-session-id": `s-${i}` });
  for (const [messages, headers] of [
    [first, named],
    [later, () => ({})],
  ] as const) {
    let away = 0;
    for (let i = 1; i <= 40; i++) {
      const send = (gateway: Gateway, n: number) =>
        gateway.send({ model: "m", messages: messages(n) }, { headers: headers(n) });
      // One that knows nothing of it, and one that has just sent another with the same head elsewhere.
      const home = send(new Gateway(hostNames(4)), i).target;
      const gateway = new Gateway(hostNames(4));
      send(gateway, 0).answer();
      if (send(gateway, i).target !== home) away++;
    }
    assert.equal(away, 0, `${away} of 40 followed the other`);
  }
});

test("the list has one host and as many fallbacks as asked for and usable", () => {
  for (const [fallbacks, hosts, length] of [
    [2, 4, 3],
    [0, 4, 1],
    [5, 3, 3],
  ] as const) {
    const gateway = new Gateway(hostNames(hosts), { config: { routing: { fallbacks } } });
    const { choice } = gateway.send(chat("hi"));
    assert.equal(choice.length, length);
    assert.equal(new Set(choice).size, length);
  }
});

test("a session keeps its host over content, header before body field, empty ones absent", () => {
  const gateway = new Gateway(hostNames(4));
  const headers = { "x-session-id": "abc" };
  const first = gateway.send(chat("one thing"), { headers }).answer();
  const second = gateway.send(chat("quite another"), { headers }).answer();
  assert.equal(second.target, first.target);
  assert.equal(second.debug("reason"), "session");
  assert.equal(second.debug("key"), first.debug("key"));
  const field = gateway.send(chat("third", { prompt_cache_key: "abc" })).answer();
  assert.equal(field.debug("key"), first.debug("key"));
  const empty = gateway.send(chat("x"), { headers: { "x-session-id": "" } }).answer();
  const none = gateway.send(chat("x")).answer();
  assert.equal(empty.debug("key"), none.debug("key"));
});

test("previous_response_id continues the conversation whose answer carried the id", () => {
  const gateway = new Gateway(hostNames(4));
  const options = { path: "/v1/responses" };
  const first = gateway.send({ model: "m1", input: "remember the number 7" }, options);
  first.answer({ id: "resp_123" });
  const next = gateway.send(
    { model: "m1", input: "which number?", previous_response_id: "resp_123" },
    options,
  );
  next.answer();
  assert.equal(next.debug("key"), first.debug("key"));
  assert.equal(next.target, first.target);
});

test("shadow mode decides, tells and counts, and leaves the choice to Envoy", () => {
  const hosts = hostNames(3);
  const gateway = new Gateway(hosts, { config: { routing: { mode: "shadow" } } });
  const exchange = gateway.send(chat("hello"));
  assert.deepEqual(exchange.choice, []);
  exchange.answer({ host: hosts[2] as string });
  assert.equal(exchange.debug("choice")?.split(",").length, 3);
  assert.equal(exchange.debug("host"), hosts[2]);
  assert.equal(exchange.debug("reason"), "cold");
  assert.equal(gateway.stat("decisions_total.reason.cold"), 1);
  // It learns where the prompt really went.
  const long = chat("a long question about ferries ".repeat(50));
  gateway.send(long).answer({ host: hosts[2] as string });
  const again = gateway.send(long).answer({ host: hosts[2] as string });
  assert.equal(again.debug("choice")?.split(",")[0], hosts[2]);
});

test("served by another than the first choice: told, counted, and remembered", () => {
  const gateway = new Gateway(hostNames(3));
  const exchange = gateway.send(chat("a long question about ferries ".repeat(50)));
  const second = exchange.choice[1] as string;
  exchange.answer({ host: second });
  assert.equal(exchange.debug("reason"), "fallback");
  assert.equal(exchange.debug("host"), second);
  const next = gateway.send(chat("a long question about ferries ".repeat(50)));
  assert.equal(next.target, second);
});

test("where no access log shows them, the fields for it aren't set; debug headers are", () => {
  for (const fields of [true, false]) {
    const gateway = new Gateway(hostNames(2), { config: { access_log_fields: fields } });
    const { stream } = gateway.send(chat("hi")).answer();
    assert.equal(stream.property("warmroute.reason"), fields ? "cold" : undefined);
    assert.equal(stream.response.headers.get("x-warmroute-reason"), "cold");
    assert.equal(gateway.stat("decisions_total.reason.cold"), 1);
  }
});
