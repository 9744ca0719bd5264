/** Scrapes on real Envoy: how often, what failed ones do, and what they tell of servers that leave and restart. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Fleet } from "../llm/fleet.ts";
import { quickChecks } from "./faults.ts";
import { ALIKE, type Configuration, gateway, post } from "./harness.ts";
import { WatchedListener } from "./listener.ts";
import { ask, choiceOf, question, quickServers as servers } from "./questions.ts";
import { until, wait } from "./until.ts";

test("8 workers scrape each server once a second, and go on when the polling VM is replaced (BC-38)", async () => {
  const fleet = await servers(4);
  const listener = new WatchedListener();
  const envoy = await gateway(
    fleet.addresses,
    { metrics: { source: "hosts", interval_ms: 1000, stale_after_ms: 5000 } },
    { workers: 8, edit: listener.edit },
  );
  await until(
    "the listener",
    async () => (await post(envoy.port, question()).catch(() => null))?.status === 200,
  );
  await scrapes(fleet, 10);
  // Another VM configuration: all VMs are replaced, the one that polls too.
  const type = "type.googleapis.com/google.protobuf.StringValue";
  listener.replace(/^( *)runtime: .*$/m, `$&\n$1configuration: { "@type": ${type}, value: again }`);
  await listener.taken(envoy);
  await scrapes(fleet, 10);
  await ask(envoy);
});

/** Waits until each server was scraped so often: once a second, not once by each of the workers. */
async function scrapes(fleet: Fleet, count: number): Promise<void> {
  const before = fleet.stats().map((server) => server.scrapes);
  const more = () => fleet.stats().map((server, i) => server.scrapes - (before[i] as number));
  const tookMs = await until(`${count} scrapes`, () => Math.min(...more()) >= count);
  const most = 3 + (130 / 60_000) * tookMs;
  for (const got of more()) assert.ok(got <= most, `${got} scrapes in ${tookMs} ms`);
}

test("an unknown metrics cluster is told once and hurts nobody (BC-38)", async () => {
  const fleet = await servers(2);
  const metrics = { source: "hosts", cluster: "nowhere", interval_ms: 100 };
  const envoy = await gateway(fleet.addresses, { metrics }, { workers: 4 });
  const failures = async () => (await envoy.stats()).sum("warmroute_scrape_failures_total");
  await until("failed scrapes", async () => (await failures()) > 0);
  for (let i = 0; i < 10; i++) await ask(envoy);
  const stats = await envoy.stats();
  assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
  assert.equal(envoy.log().match(/metrics\.cluster/g)?.length, 1);
});

test("a server that answers HTML, garbage or nothing on its metrics page serves on", async () => {
  const fleet = await servers(3);
  await fleet.fault(0, { kind: "html", scope: "metrics" });
  await fleet.fault(1, { kind: "garbage", scope: "metrics" });
  await fleet.fault(2, { kind: "hang", scope: "metrics" });
  const metrics = { source: "hosts", interval_ms: 200, timeout_ms: 150, stale_after_ms: 1000 };
  const envoy = await gateway(fleet.addresses, { metrics });
  const sum = async (name: string) => (await envoy.stats()).sum(name);
  await until("scrapes", () => fleet.stats().every((server) => server.scrapes > 3));
  await until("all stale", async () => (await sum("warmroute_stale_hosts")) === 3);
  for (let i = 0; i < 20; i++) await ask(envoy);
  assert.equal(await sum("warmroute_internal_errors_total"), 0);
});

test("a killed server leaves the lists, returns, and has nothing cached then", async () => {
  const fleet = await servers(3);
  const configuration: Configuration = {
    ...ALIKE,
    hosts: [],
    discovery: { source: "envoy_admin", interval_ms: 200 },
    metrics: { source: "hosts", interval_ms: 200, timeout_ms: 150, stale_after_ms: 2000 },
  };
  const envoy = await gateway(fleet.addresses, configuration, { edit: quickChecks });
  const listed = async () => choiceOf(await ask(envoy)).length;
  await until("three hosts", async () => (await listed()) === 3);
  const long = question("The tide tables of every harbour on this coast. ".repeat(120));
  const home = (await ask(envoy, long))["x-warmroute-host"] as string;
  const warm = await ask(envoy, long);
  assert.equal(warm["x-warmroute-host"], home);
  assert.ok(Number(warm["x-warmroute-cached-tokens"]) > 500);
  // Starts that are closer together than this count as one.
  await wait(2100);
  const index = fleet.addresses.indexOf(home);
  await fleet.servers[index]?.kill();
  await until("its leave", async () => (await listed()) === 2);
  for (let i = 0; i < 20; i++) assert.ok(!choiceOf(await ask(envoy)).includes(home));
  await fleet.servers[index]?.revive();
  await until("its return", async () => (await listed()) === 3);
  await scraped(fleet, index);
  const again = await ask(envoy, long);
  if (again["x-warmroute-host"] === home) assert.equal(again["x-warmroute-cached-tokens"], "0");
});

/** Waits until what a server reports from now on is known. */
async function scraped(fleet: Fleet, index: number): Promise<void> {
  const count = () => fleet.stats()[index]?.scrapes ?? 0;
  const before = count();
  await until("scrapes", () => count() >= before + 3);
}

test("a restart between two scrapes voids what was cached", async () => {
  const fleet = await servers(1);
  const metrics = { source: "hosts", interval_ms: 200, timeout_ms: 150, stale_after_ms: 2000 };
  const envoy = await gateway(fleet.addresses, { metrics });
  const long = question("The tide tables of every harbour on this coast. ".repeat(120));
  await scraped(fleet, 0);
  await ask(envoy, long);
  assert.ok(Number((await ask(envoy, long))["x-warmroute-cached-tokens"]) > 500);
  // Starts that are closer together than this count as one.
  await wait(2100);
  await fleet.servers[0]?.kill();
  await fleet.servers[0]?.revive();
  await scraped(fleet, 0);
  assert.equal((await ask(envoy, long))["x-warmroute-cached-tokens"], "0");
});
