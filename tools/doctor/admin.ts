import { setTimeout as sleep } from "node:timers/promises";
import { Stats } from "../envoy/stats.ts";
import type { ClusterStatuses, ConfigDump } from "./dump.ts";

/** What a running Envoy tells of itself. */
export interface Snapshot {
  /** `1.40.0` */
  version: string;
  state: string;
  /** `/config_dump` with endpoints. */
  dump: ConfigDump;
  /** `/clusters?format=json` */
  clusters: ClusterStatuses;
  /** Statistics at the beginning, and `watchedMs` later. */
  before: Stats;
  after: Stats;
  watchedMs: number;
}

const TIMEOUT_MS = 5000;

/**
 * Asks the admin interface for everything, and for the statistics twice.
 * @param admin its address, `http://127.0.0.1:9901`
 * @throws with the address when it doesn't answer as Envoy does
 */
export async function snapshot(admin: string, watchMs: number): Promise<Snapshot> {
  const info = JSON.parse(await get(admin, "/server_info")) as { version?: string; state?: string };
  const version = /\/(\d+\.\d+\.\d+)/.exec(info.version ?? "")?.[1];
  if (version === undefined) throw new Error(`${admin}/server_info is not Envoy's: no version`);
  const before = await statistics(admin);
  const started = performance.now();
  const dump = JSON.parse(await get(admin, "/config_dump?include_eds")) as ConfigDump;
  const clusters = JSON.parse(await get(admin, "/clusters?format=json")) as ClusterStatuses;
  await sleep(watchMs);
  const watchedMs = performance.now() - started;
  const after = await statistics(admin);
  return { version, state: info.state ?? "", dump, clusters, before, after, watchedMs };
}

async function statistics(admin: string): Promise<Stats> {
  return new Stats(await get(admin, "/stats/prometheus"));
}

async function get(admin: string, path: string): Promise<string> {
  const url = `${admin.replace(/\/$/, "")}${path}`;
  let answer: Response;
  try {
    answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    throw new Error(`${url} does not answer: ${cause?.message || message}`);
  }
  if (answer.status !== 200) throw new Error(`${url} answers HTTP ${answer.status}`);
  return await answer.text();
}
