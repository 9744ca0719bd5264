import { after } from "node:test";
import { buildIfStale } from "../../tools/compile.ts";
import { type EnvoyOptions, type EnvoyProcess, startEnvoy } from "../../tools/envoy/process.ts";
import { type Configuration, merge } from "../config/merge.ts";
import { type Sink, startSinks } from "./sink.ts";

export { type Configuration, merge } from "../config/merge.ts";
export * from "./client.ts";
export type { Seen, Sink } from "./sink.ts";

/**
 * For tests in which servers are alike: how long their answers take on a busy machine is chance, and one that seemed slow once
 * is passed over for a while.
 */
export const ALIKE: Configuration = { cost: { learn: false } };

/** The configuration that e2e tests start from: hosts given, no scrapes, debug headers. */
export function configuration(hosts: string[], overrides: Configuration = {}): Configuration {
  const base = { hosts, debug_headers: true, metrics: { source: "none" } };
  return merge(base, overrides);
}

/**
 * Envoy with the filter as it is in the sources, in front of hosts. It ends with the test that
 * starts it, or with the file when it is started at its top; not to be called in a hook.
 */
export async function gateway(
  hosts: string[],
  overrides: Configuration = {},
  options: Partial<EnvoyOptions> = {},
): Promise<EnvoyProcess> {
  const built = buildIfStale();
  if (!built.ok) throw new Error(built.message);
  const envoy = await startEnvoy({
    hosts,
    configuration: configuration(hosts, overrides),
    ...options,
  });
  after(() => envoy.stop());
  return envoy;
}

/** Upstreams that tell what they got; they end as `gateway` does. */
export async function sinks(count: number): Promise<Sink[]> {
  const started = await startSinks(count);
  after(async () => {
    await Promise.all(started.map((sink) => sink.stop()));
  });
  return started;
}
