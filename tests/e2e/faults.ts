/** What the tests of faults share: servers, a gateway as shipped with quick clocks, and its state afterwards. */
import assert from "node:assert/strict";
import { after } from "node:test";
import type { EnvoyOptions, EnvoyProcess } from "../../tools/envoy/process.ts";
import { type Fleet, startServers } from "../llm/fleet.ts";
import type { LlmServerOptions } from "../llm/server.ts";
import { type Configuration, gateway, merge, post } from "./harness.ts";
import { errorsOf, type Traffic } from "./traffic.ts";
import { until } from "./until.ts";

export { until, wait } from "./until.ts";

/** Servers whose answers' headers come with the first token, so that a request can be tried again until then. */
export async function servers(
  count: number,
  options: Partial<LlmServerOptions> = {},
): Promise<Fleet> {
  const fleet = await startServers(count, { timeScale: 4, headersAt: "first_token", ...options });
  after(() => fleet.stop());
  return fleet;
}

/** Time aside of a server that fails, at first, in ms. */
export const EJECT_MS = 1000;

/** Envoy's health checks each quarter of a second instead of five; their time-out is one that a busy machine doesn't miss. */
export const quickChecks = (yaml: string) =>
  yaml.replace(/interval: 5s/g, "interval: 0.25s").replace("- timeout: 2s", "- timeout: 1s");

/** A gateway as shipped: hosts by discovery, health checks, scrapes; with the clocks of a test. */
export async function shipped(
  hosts: string[],
  overrides: Configuration = {},
  options: Partial<EnvoyOptions> = {},
): Promise<EnvoyProcess> {
  const configuration = merge(
    {
      hosts: [],
      discovery: { source: "envoy_admin", interval_ms: 250, timeout_ms: 240 },
      metrics: { source: "hosts", interval_ms: 250, timeout_ms: 240, stale_after_ms: 1500 },
      health: { eject_ms: EJECT_MS },
      status: { path: "/warmroute" },
    },
    overrides,
  );
  const edit = options.edit ?? ((yaml: string) => yaml);
  const envoy = await gateway(hosts, configuration, {
    workers: 2,
    ...options,
    edit: (yaml) => edit(quickChecks(yaml)),
  });
  const most = Math.min(hosts.length, 3);
  await until("all hosts", async () => (await listed(envoy)).length >= most);
  return envoy;
}

/** The list that the filter sets now, for a conversation that begins so. */
export async function listed(envoy: EnvoyProcess, content = "Who is there?"): Promise<string[]> {
  const messages = [{ role: "user", content }];
  const answer = await post(envoy.port, { model: "test-model", messages, max_tokens: 1 });
  const choice = String(answer.headers["x-warmroute-choice"] ?? "");
  return choice === "" ? [] : choice.split(",");
}

/**
 * Conversations that begin now are known by their second turn, whichever worker gets it: the location tables are right. Whether
 * it is worth going there is another matter, on a busy machine.
 */
async function assertRemembers(envoy: EnvoyProcess): Promise<void> {
  for (let i = 0; i < 4; i++) {
    await until("a conversation that is known", async () => {
      const content = `${i} at ${performance.now()}: ${"all berths of all harbours ".repeat(80)}`;
      const begun = [{ role: "user", content }];
      const ask = (messages: object[]) =>
        post(envoy.port, { model: "test-model", messages, max_tokens: 1 });
      assert.equal((await ask(begun)).status, 200);
      const more = [
        { role: "assistant", content: "Which?" },
        { role: "user", content: "All." },
      ];
      const { status, headers } = await ask([...begun, ...more]);
      assert.equal(status, 200);
      return ["prefix", "load"].includes(String(headers["x-warmroute-reason"]));
    });
  }
}

/**
 * Right after all requests have ended: nothing in flight, nothing queued, no inner failure, and what is placed then is
 * remembered.
 */
export async function assertSettled(envoy: EnvoyProcess): Promise<number> {
  const sum = async (name: string) => (await envoy.stats()).sum(name);
  const tookMs = await until(
    "no request in flight",
    async () =>
      (await sum("warmroute_in_flight")) === 0 && (await sum("warmroute_queue_length")) === 0,
  ).catch(async () => {
    const stats = await envoy.stats();
    assert.deepEqual(
      stats.find("warmroute_in_flight").filter(({ value }) => value !== 0),
      [],
      "in flight after all requests have ended",
    );
    assert.equal(stats.sum("warmroute_queue_length"), 0, "queued after all requests have ended");
    return 0;
  });
  for (const { labels, value } of (await envoy.stats()).find("warmroute_in_flight")) {
    assert.equal(value, 0, `in flight at ${labels.host}`);
  }
  assert.equal(await sum("warmroute_internal_errors_total"), 0, "inner failures");
  assert.equal(await sum("warmroute_outside_requests_total"), 0, "taken for requests past it");
  await assertRemembers(envoy);
  const entries = await sum("warmroute_table_entries");
  console.log(
    `  afterwards: in flight 0 and queue 0 within ${round(tookMs)} ms; ${entries} locations`,
  );
  return tookMs;
}

/** No request failed that could have been served. */
export function assertNothingLost(traffic: Traffic): void {
  const lost = traffic.lost();
  assert.equal(lost.length, 0, `lost of ${traffic.outcomes.length}: ${errorsOf(lost)}`);
}

/** Whether each of the hosts has served a request that was sent after a moment. */
export function served(traffic: Traffic, hosts: readonly string[], sinceMs: number): boolean {
  return hosts.every((host) => traffic.since(sinceMs).some((outcome) => outcome.host === host));
}

/** Says what became of traffic under a fault, and how long recovery took in ms: for the report. */
export function figure(fault: string, traffic: Traffic, words: string, backMs?: number): void {
  const counts = `${traffic.outcomes.length} requests, ${traffic.lost().length} lost, ${traffic.broken().length} broken off`;
  const back = backMs === undefined ? "" : `; back after ${round(backMs)} ms`;
  console.log(`${fault}: ${counts}; ${words}${back}`);
}

export const round = (ms: number) => Math.round(ms);

/** What bounds how many requests a fault of one server can meet. */
export interface Struck {
  /** Requests under way at once. */
  clients: number;
  /** Answers from before the fault that ended well after it had begun. */
  goodEnds: number;
  forMs: number;
  ejectMs: number;
}

/**
 * How many requests a fault may meet before and after its server is set aside, however fast or slow the machine: until
 * three fail in a row (each good end of an answer from before starts the count anew), those that are under way then, as
 * many again from the worker that learns of it by its next failure, and one trial after each time aside.
 */
export function mostMet({ clients, goodEnds, forMs, ejectMs }: Struck): number {
  const inARow = 3;
  const trials = Math.ceil(Math.log2(forMs / ejectMs + 1)) + 1;
  return inARow + (inARow - 1) * goodEnds + 2 * (clients - 1) + trials;
}
