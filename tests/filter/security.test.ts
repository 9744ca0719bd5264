/** What SECURITY.md claims of the filter alone: tenants, the table, numbers that overflow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, type Exchange, Gateway, hostNames } from "./gateway.ts";

const HOSTS = hostNames(3);
const SECRET = `The plan is this: ${"meet at the old harbour wall. ".repeat(60)}`;

function tenants(config: Record<string, unknown> = {}): {
  gateway: Gateway;
  as: (tenant: string, text: string, more?: Record<string, unknown>) => Exchange;
} {
  const gateway = new Gateway(HOSTS, {
    config: { affinity: { tenant_header: "x-tenant", ...config } },
  });
  const as = (tenant: string, text: string, more: Record<string, unknown> = {}) =>
    gateway.send(chat(text, more), { headers: { "x-tenant": tenant } });
  return { gateway, as };
}

test("a tenant can't tell whether another has sent a prompt", () => {
  const { as } = tenants();
  as("victim", SECRET).answer();
  const own = as("victim", SECRET).answer();
  assert.ok(Number(own.debug("cached-tokens")) > 100, "its own tenant finds it");
  const probe = as("spy", SECRET).answer();
  assert.equal(probe.debug("cached-tokens"), "0");
  assert.equal(probe.debug("reason"), "cold");
  assert.notEqual(probe.debug("key"), own.debug("key"));
});

test("a tenant can't reach another's conversation by its session id", () => {
  const { gateway } = tenants();
  const ask = (tenant: string) =>
    gateway
      .send(chat("Hello"), { headers: { "x-tenant": tenant, "x-session-id": "s-1" } })
      .answer();
  ask("victim");
  assert.equal(ask("victim").debug("reason"), "session");
  assert.notEqual(ask("spy").debug("reason"), "session");
  assert.notEqual(ask("spy").debug("key"), ask("victim").debug("key"));
});

test("a tenant that floods the table takes others' places by age only: what is used stays", () => {
  const { gateway, as } = tenants({ table_bytes: 65_536 });
  as("quiet", SECRET).answer();
  let found = 0;
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 200; i++)
      as("loud", `Question ${round * 200 + i} ${"x".repeat(300)}`).answer();
    const again = as("quiet", SECRET).answer();
    if (Number(again.debug("cached-tokens")) > 100) found++;
  }
  gateway.host.advance(1000);
  assert.ok(gateway.stat("table_evictions_total") > 1000, "the table was flooded");
  assert.ok(found >= 30, `the quiet tenant's prompt was known ${found} times of 40`);
});

const MASK = (1n << 64n) - 1n;

/** `mix` of assembly/prefix/hash.ts. */
function mix(a: bigint, b: bigint): bigint {
  const turned = (b * 0xc2b2ae3d27d4eb4fn + 0x165667b19e3779f9n) & MASK;
  let x = ((a * 0x9e3779b185ebca87n) & MASK) ^ (((turned << 31n) | (turned >> 33n)) & MASK);
  x = ((x ^ (x >> 33n)) * 0xff51afd7ed558ccdn) & MASK;
  x = ((x ^ (x >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK;
  return x ^ (x >> 33n);
}

/** The bucket that a conversation has in the smallest location table, by its key. */
const bucketOf = (key: string) => Number(mix(BigInt(`0x${key}`), 0x5e551055a17ed001n) & 127n);

/** Who asks in which session, at a gateway with the smallest location table. */
function sessions(hashSecret = "") {
  const affinity = { table_bytes: 65_536, hash_secret: hashSecret };
  const gateway = new Gateway(HOSTS, { config: { affinity, cost: { learn: false } } });
  const ask = (session: string) =>
    gateway.send(chat("Hello"), { headers: { "x-session-id": session } }).answer();
  return { gateway, ask };
}

/** Sessions that share the victim's bucket, as somebody finds them who has a gateway of his own. */
function collisions(own: ReturnType<typeof sessions>, count: number): string[] {
  const wanted = bucketOf(own.ask("victim").debug("key") ?? "");
  const found: string[] = [];
  for (let i = 0; found.length < count; i++) {
    if (bucketOf(own.ask(`s${i}`).debug("key") ?? "") === wanted) found.push(`s${i}`);
  }
  return found;
}

test("sessions chosen to share a bucket displace what is in it, and nothing else", () => {
  const { gateway, ask } = sessions();
  const chosen = collisions(sessions(), 60);
  const others = Array.from({ length: 40 }, (_, i) => `other ${i}`);
  const outside = others.filter((session) => {
    const isInside =
      bucketOf(ask(session).debug("key") ?? "") === bucketOf(ask("victim").debug("key") ?? "");
    return !isInside;
  });
  assert.equal(ask("victim").debug("reason"), "session");
  for (const session of chosen) ask(session);
  assert.notEqual(ask("victim").debug("reason"), "session", "it is displaced");
  for (const session of outside) assert.equal(ask(session).debug("reason"), "session", session);
  assert.ok(outside.length > 30);
  gateway.host.advance(1000);
  // A bucket has 30 places: 60 sessions fill it, and displace each other.
  const displaced = gateway.stat("table_evictions_total");
  assert.ok(displaced >= 30 && displaced <= 70, `${displaced} displaced`);
  assert.equal(ask("victim").debug("reason"), "session", "it is known again at once");
});

test("with affinity.hash_secret nobody can choose such sessions, and gateways with the same secret agree", () => {
  const secret = "a secret of gateways";
  const { ask } = sessions(secret);
  ask("victim");
  for (const session of collisions(sessions(), 60)) ask(session);
  assert.equal(ask("victim").debug("reason"), "session");
  const key = (hashSecret: string) => sessions(hashSecret).ask("victim").debug("key");
  assert.equal(key(secret), ask("victim").debug("key"));
  assert.notEqual(key("a secret of others"), key(secret));
  assert.notEqual(key(""), key(secret));
  const home = (hashSecret: string) =>
    Array.from({ length: 30 }, (_, i) => sessions(hashSecret).ask(`s${i}`).target).join();
  assert.equal(home(secret), home(secret));
  assert.notEqual(home(""), home(secret), "homes can't be told either");
});

test("numbers that overflow: a request like any other, and none after it is hurt", () => {
  const { gateway } = tenants();
  const extremes = [1e308, -1e308, 2 ** 63, 2 ** 31, -1, 0, 1e21, 4294967296];
  for (const n of extremes) {
    for (const best_of of extremes) {
      const raw = `{"model":"m","n":${n},"best_of":${best_of},"max_tokens":${n},"max_completion_tokens":${best_of},"messages":[{"role":"user","content":"Hi"}]}`;
      const exchange = gateway.send(raw, { headers: { "x-tenant": "t" } });
      assert.ok(exchange.choice.length > 0, raw);
      exchange.answer({ promptTokens: n, completionTokens: n, cachedTokens: best_of });
      const output = Number(exchange.debug("output-tokens"));
      assert.ok(Number.isFinite(output) && output >= 0, `${output} of ${raw}`);
    }
  }
  // What was learned from them leaves predictions finite, and every server in use.
  const targets = new Set<string | undefined>();
  for (let i = 0; i < 60; i++) targets.add(gateway.send(chat(`After ${i}`)).target);
  assert.equal(targets.size, HOSTS.length);
});

test("a body of any declared length is held by what came of it", () => {
  const { gateway } = tenants();
  for (const length of ["-1", "99999999999999999999", "1e9", "", "0x10"]) {
    const exchange = gateway.send(chat("Hello"), { headers: { "content-length": length } });
    assert.ok(exchange.choice.length > 0, length);
    assert.ok(Number(exchange.answer().debug("prompt-tokens")) < 100_000);
  }
});
