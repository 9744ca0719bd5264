import assert from "node:assert/strict";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { until } from "./until.ts";

/** A statistic now, over all its labels. */
export async function sum(envoy: EnvoyProcess, name: string): Promise<number> {
  return (await envoy.stats()).sum(name);
}

/** Waits until nothing is held or in flight any more; nothing has failed inside. */
export async function settled(envoy: EnvoyProcess): Promise<void> {
  await until("an empty queue", async () => (await sum(envoy, "warmroute_queue_length")) === 0);
  await until("nothing in flight", async () => (await sum(envoy, "warmroute_in_flight")) === 0);
  assert.equal(await sum(envoy, "warmroute_internal_errors_total"), 0);
}
