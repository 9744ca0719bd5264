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
