import { setTimeout as sleep } from "node:timers/promises";
import { operators, STATUS_PATH } from "../envoy/operators.ts";
import { freePorts } from "../envoy/ports.ts";
import { type EnvoyProcess, startEnvoy } from "../envoy/process.ts";
import type { Stats } from "../envoy/stats.ts";
import type { Options } from "./options.ts";
import { bold, dim, isTerminal, padEnd, padStart, Screen } from "./terminal.ts";

const DEFAULT_PORT = 8080;
const VIEW_MS = 1000;
const LINE_MS = 10_000;

/**
 * Runs Envoy with the filter in front of real servers and shows its statistics until Ctrl-C.
 * @returns the program's exit code
 */
export async function front(
  options: Options,
  version: string,
  stopped: AbortSignal,
): Promise<number> {
  const hosts = options.hosts ?? [];
  const [pagePort = 0] = await freePorts(1);
  const envoy = await startEnvoy({
    edit: (yaml) => operators(yaml, pagePort, STATUS_PATH),
    hosts,
    // Envoy resolves names, and tells the filter the addresses and their health.
    configuration: { discovery: { source: "envoy_admin" } },
    listenerPort: options.port ?? DEFAULT_PORT,
    ...(options.adminPort === undefined ? {} : { adminPort: options.adminPort }),
    workers: 2,
  });
  const title = `warmroute on Envoy ${version}, in front of ${hosts.length} servers`;
  console.log(`${title}\n`);
  console.log(`  requests    http://127.0.0.1:${envoy.port}/v1/chat/completions`);
  console.log(`  status      http://127.0.0.1:${pagePort}${STATUS_PATH}`);
  console.log(`  statistics  http://127.0.0.1:${envoy.adminPort}/stats/prometheus`);
  console.log(`  log         ${envoy.folder}/envoy.log\n`);
  const screen = new Screen();
  try {
    await watch(envoy, screen, stopped, options.seconds);
  } finally {
    if (isTerminal) screen.clear();
    await envoy.stop();
  }
  return stopped.aborted ? 130 : 0;
}

async function watch(
  envoy: EnvoyProcess,
  screen: Screen,
  stopped: AbortSignal,
  seconds: number | undefined,
): Promise<void> {
  const end = performance.now() + (seconds ?? Number.POSITIVE_INFINITY) * 1000;
  while (!stopped.aborted && performance.now() < end) {
    if (!envoy.alive) throw new Error(`Envoy has ended:\n${envoy.log().slice(-2000)}`);
    const stats = await envoy.stats();
    if (isTerminal) screen.draw(statsView(stats));
    else console.log(statsView(stats).join("\n"));
    const pauseMs = isTerminal ? VIEW_MS : LINE_MS;
    await sleep(pauseMs, undefined, { signal: stopped }).catch(() => {});
  }
}

/** Decisions by reason, then each server. */
function statsView(stats: Stats): string[] {
  const decisions = stats.find("warmroute_decisions_total");
  const hosts = stats.find("warmroute_in_flight");
  const expected = stats.sum("warmroute_expected_cached_tokens_total");
  const reported = stats.sum("warmroute_reported_cached_tokens_total");
  return [
    bold(`  ${padEnd("decided by", 24)}${padStart("requests", 10)}`),
    ...decisions
      .filter(({ value }) => value > 0)
      .map(
        ({ labels, value }) => `  ${padEnd(labels.reason ?? "", 24)}${padStart(String(value), 10)}`,
      ),
    "",
    bold(`  ${padEnd("server", 24)}${padStart("in flight", 10)}`),
    ...hosts.map(
      ({ labels, value }) => `  ${padEnd(labels.host ?? "", 24)}${padStart(String(value), 10)}`,
    ),
    "",
    `  cached prompt tokens: ${expected} expected, ${reported} reported  ${dim("Ctrl-C ends it")}`,
  ];
}
