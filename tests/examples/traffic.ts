import assert from "node:assert/strict";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { random, words } from "../../tools/seeded.ts";
import { post } from "../e2e/harness.ts";

/** Eight conversations of three turns; each stays where it began. */
export async function talk(
  envoy: EnvoyProcess,
  headers: Record<string, string> = {},
): Promise<void> {
  const rand = random(5);
  const reached = new Set<unknown>();
  for (let conversation = 0; conversation < 8; conversation++) {
    const messages = [{ role: "system", content: words(rand, 4000) }];
    let first: unknown;
    for (let turn = 0; turn < 3; turn++) {
      messages.push({ role: "user", content: words(rand, 100) });
      const body = { model: "test-model", messages, max_tokens: 4 };
      const answer = await post(envoy.port, body, { headers });
      assert.equal(answer.status, 200, answer.body.toString());
      const host = answer.headers["x-served-by"];
      first ??= host;
      assert.equal(host, first);
      reached.add(host);
      const { message } = JSON.parse(answer.body.toString()).choices[0];
      messages.push(message);
    }
  }
  assert.ok(reached.size > 1, "one server got all");
}

/** What must hold after `talk`: all counted, nothing wrong, labels there. */
export async function checkStatistics(envoy: EnvoyProcess, hosts: string[]): Promise<void> {
  const stats = await envoy.stats();
  assert.equal(stats.sum("warmroute_decisions_total"), 24);
  const warm = stats.sum("warmroute_decisions_total", { reason: "prefix" });
  assert.ok(warm >= 16, JSON.stringify(stats.find("warmroute_decisions_total")));
  for (const host of hosts) assert.equal(stats.find("warmroute_in_flight", { host }).length, 1);
  assert.ok(stats.sum("warmroute_scrapes_total") > 0);
  assert.equal(stats.sum("warmroute_scrape_failures_total"), 0);
  assert.equal(stats.sum("warmroute_stale_hosts"), 0);
  assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
  assert.equal(stats.sum("warmroute_headers_not_held_total"), 0);
}

/** Until the filter has learned of all servers, through the cluster on the admin interface. */
export async function discovered(envoy: EnvoyProcess, count: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < 15_000; waitedMs += 100) {
    const stats = await envoy.stats();
    const known = stats.find("warmroute_in_flight").length;
    if (known === count && stats.sum("warmroute_stale_hosts") === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${count} servers were not found within 15 s:\n${envoy.log().slice(-2000)}`);
}
