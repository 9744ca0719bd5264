import assert from "node:assert/strict";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { random, words } from "../../tools/seeded.ts";
import { post } from "../e2e/harness.ts";
import { until } from "../e2e/until.ts";

/** A gateway says something at least each 250 ms; after so many messages all placements have been told, twice if need be. */
const TOLD_MESSAGES = 8;

const CONVERSATIONS = 8;
const TURNS = 3;
/**
 * So many of the later turns stay where their conversation began. By chance it were a half or less; a server that seemed slow
 * once, as happens on a busy machine, is worth leaving.
 */
const STAY = 0.8 * CONVERSATIONS * (TURNS - 1);

/**
 * Eight conversations of three turns, which stay where they began.
 * @param gateways with several, each turn goes to another than the one before it, once that has been told
 */
export async function talk(
  gateways: EnvoyProcess[],
  headers: Record<string, string> = {},
): Promise<void> {
  const rand = random(5);
  const conversations = Array.from({ length: CONVERSATIONS }, () => ({
    messages: [{ role: "system", content: words(rand, 4000) }],
    served: [] as unknown[],
  }));
  let stayed = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn > 0 && gateways.length > 1) await told(gateways);
    for (const [i, { messages, served }] of conversations.entries()) {
      messages.push({ role: "user", content: words(rand, 100) });
      const body = { model: "test-model", messages, max_tokens: 4 };
      const { port = 0 } = gateways[(i + turn) % gateways.length] ?? {};
      const answer = await post(port, body, { headers });
      assert.equal(answer.status, 200, answer.body.toString());
      served.push(answer.headers["x-served-by"]);
      if (turn > 0 && served[turn] === served[0]) stayed++;
      const { message } = JSON.parse(answer.body.toString()).choices[0];
      messages.push(message);
    }
  }
  assert.ok(stayed >= STAY, `${stayed} later turns stayed`);
  const reached = new Set(conversations.map(({ served }) => served[0]));
  assert.ok(reached.size > 1, "one server got all");
}

/** Until each gateway has heard all that the others have to tell now. */
async function told(gateways: EnvoyProcess[]): Promise<void> {
  const received = async (gateway: EnvoyProcess) =>
    (await gateway.stats()).sum("warmroute_peer_messages_received_total");
  const before = await Promise.all(gateways.map(received));
  const more = TOLD_MESSAGES * (gateways.length - 1);
  for (const [i, gateway] of gateways.entries()) {
    const enough = (before[i] ?? 0) + more;
    await until("gateways to tell", async () => (await received(gateway)) >= enough);
  }
}

/** What must hold after `talk`: all counted, nothing wrong, labels there. */
export async function checkStatistics(envoy: EnvoyProcess, hosts: string[]): Promise<void> {
  const stats = await envoy.stats();
  assert.equal(stats.sum("warmroute_decisions_total"), CONVERSATIONS * TURNS);
  const warm = stats.sum("warmroute_decisions_total", { reason: "prefix" });
  assert.ok(warm >= STAY, JSON.stringify(stats.find("warmroute_decisions_total")));
  for (const host of hosts) assert.equal(stats.find("warmroute_in_flight", { host }).length, 1);
  // On a busy machine one may come too late; with a wrong address all fail.
  const failed = stats.sum("warmroute_scrape_failures_total");
  assert.ok(stats.sum("warmroute_scrapes_total") > 2 * failed, `${failed} scrapes failed`);
  assert.equal(stats.sum("warmroute_stale_hosts"), 0);
  assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
  assert.equal(stats.sum("warmroute_headers_not_held_total"), 0);
}

/** Until each gateway hears all others. */
export async function heard(gateways: EnvoyProcess[]): Promise<void> {
  for (const gateway of gateways) {
    await until(`a gateway to hear ${gateways.length - 1} others`, async () => {
      const stats = await gateway.stats();
      const others = ["warmroute_peers", "warmroute_peers_heard"].map((name) => stats.sum(name));
      return others.every((count) => count === gateways.length - 1);
    });
  }
}

/** What must hold after `talk` to several: they told each other, and took what they were told. */
export async function checkExchange(gateways: EnvoyProcess[]): Promise<void> {
  await heard(gateways);
  let warm = 0;
  for (const gateway of gateways) {
    const stats = await gateway.stats();
    assert.ok(stats.sum("warmroute_peer_messages_received_total") > 0);
    for (const cause of ["garbled", "version", "oversized"])
      assert.equal(stats.sum("warmroute_peer_messages_dropped_total", { cause }), 0, cause);
    assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
    warm += stats.sum("warmroute_decisions_total", { reason: "prefix" });
  }
  assert.ok(warm >= STAY, `${warm} decided by what is cached`);
}

/**
 * Until the filter has learned of all servers, through the cluster on the admin interface, and that they are
 * healthy: an Envoy that starts on a busy machine may miss the first health checks.
 */
export async function discovered(envoy: EnvoyProcess, count: number): Promise<void> {
  await until(`${count} servers to be found`, async () => {
    const stats = await envoy.stats();
    const known = stats.find("warmroute_in_flight").length;
    return known === count && stats.sum("warmroute_stale_hosts") === 0;
  });
  await until("servers to be healthy", async () => {
    return !(await envoy.admin("/clusters")).includes("failed_active_hc");
  });
  const polls = async () => (await envoy.stats()).sum("warmroute_discovery_polls_total");
  const before = await polls();
  // The first of them may have been under way.
  await until("the filter to hear of it", async () => (await polls()) >= before + 3);
}
