import assert from "node:assert/strict";
import { test } from "node:test";
import type { Root } from "../host/vm.ts";
import { question } from "./busy.ts";
import { type Exchange, Gateway, type GatewayOptions, hostNames } from "./gateway.ts";
import { betweenReadAndWrite } from "./records.ts";

const PREFIX = "warmroute.tenant_work_ms_total.tenant.";

function gatewayOf(options: GatewayOptions = {}): Gateway {
  const config = {
    admission: { tenant_header: "x-tenant", late_binding_ms: 60_000 },
    status: { path: "/warmroute" },
    ...options.config,
  };
  return new Gateway(hostNames(2), { ...options, config });
}

function ask(gateway: Gateway, tenant: string, worker = 0): Exchange {
  const exchange = gateway.send(question(), { worker, headers: { "x-tenant": tenant } });
  return exchange.answer();
}

/** Predicted work by tenant, ms. */
function works(gateway: Gateway): Map<string, number> {
  const found = new Map<string, number>();
  const { metrics } = gateway.host;
  for (const name of metrics.names()) {
    if (name.startsWith(PREFIX)) found.set(name.slice(PREFIX.length), metrics.counter(name) ?? 0);
  }
  return found;
}

const named = (gateway: Gateway) => [...works(gateway)].filter(([name]) => name !== "other");
const sum = (numbers: Iterable<number>) => [...numbers].reduce((a, b) => a + b, 0);

test("tenants' work is counted under a hash of their names, over all workers", () => {
  const gateway = gatewayOf({ workers: 2 });
  assert.deepEqual([...works(gateway)], [["other", 0]], "from the start");
  // What answers take is learned from requests that name no tenant, and aren't counted.
  for (let i = 0; i < 60; i++) gateway.send(question(), { worker: i % 2 }).answer();
  gateway.host.advance(500);
  const names = new Set<string | undefined>();
  for (let i = 0; i < 90; i++) {
    const tenant = i % 3 === 0 ? "secret-a" : "secret-b";
    names.add(ask(gateway, tenant, i % 2).debug("tenant"));
  }
  gateway.host.advance(6000);
  assert.equal(names.size, 2);
  const found = works(gateway);
  const [small = 0, large = 0] = named(gateway)
    .map(([, work]) => work)
    .sort((a, b) => a - b);
  assert.deepEqual(new Set(named(gateway).map(([name]) => name)), names);
  assert.equal(found.get("other"), 0);
  assert.ok(Math.abs(large / small - 2) < 0.05, `${large} and ${small} ms`);
  const page = gateway.send(Buffer.alloc(0), { method: "GET", path: "/warmroute.json" });
  const body = `${page.stream.localReply?.body}`;
  const { tenants } = JSON.parse(body) as { tenants: { tenant: string; work_ms: number }[] };
  assert.deepEqual(
    new Map(tenants.map(({ tenant, work_ms }) => [tenant, work_ms])),
    new Map(named(gateway)),
  );
  for (const text of [body, ...found.keys(), ...names]) assert.doesNotMatch(`${text}`, /secret/);
});

test("any number of tenants: those with a telling share are told apart, work adds up, statistics are bounded", () => {
  const gateway = gatewayOf();
  let total = 0;
  for (let round = 0; round < 12; round++) {
    for (let i = 0; i < 200; i++) {
      ask(gateway, i % 4 === 0 ? "large" : `tenant ${round * 200 + i}`);
      total++;
    }
    gateway.host.advance(6000);
  }
  const all = sum(works(gateway).values());
  const each = all / total;
  const counts = named(gateway).map(([, work]) => work / each);
  assert.ok(counts.length <= 32);
  assert.ok(Math.abs(Math.max(...counts) - total / 4) < total / 50, `${counts}`);
});

test("without a tenant header nothing is told of tenants", () => {
  const gateway = new Gateway(hostNames(2));
  const exchange = gateway.send(question(), { headers: { "x-tenant": "a" } }).answer();
  gateway.host.advance(6000);
  assert.equal(exchange.debug("tenant"), undefined);
  assert.deepEqual([...works(gateway)], [["other", 0]]);
});

test("two workers that name the first tenants at the same moment name both, each with its own work", () => {
  const gateway = gatewayOf({ workers: 2 });
  const [first, second] = gateway.roots as [Root, Root];
  for (let i = 0; i < 60; i++) gateway.send(question(), { worker: i % 2 }).answer();
  gateway.host.advance(500);
  for (let i = 0; i < 60; i++) ask(gateway, `tenant ${i % 2}`, i % 2);
  gateway.clock.advance(6000);
  betweenReadAndWrite(gateway, "tenants", () => second.tick());
  first.tick();
  gateway.host.advance(500);
  const names = [0, 1].map((i) => ask(gateway, `tenant ${i}`, 1).debug("tenant") ?? "");
  for (let i = 0; i < 29; i++) ask(gateway, "tenant 0", 1);
  gateway.host.advance(6000);
  const [work0 = 0, work1 = 0] = names.map((name) => works(gateway).get(name));
  assert.ok(Math.abs(work0 / work1 - 60 / 31) < 0.05, `${work0} and ${work1} ms`);
});
