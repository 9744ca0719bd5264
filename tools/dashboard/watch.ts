import { setMaxListeners } from "node:events";
import type { EnvoyProcess } from "../envoy/process.ts";
import { drive } from "../start/drive.ts";
import { startFleet } from "../start/fleet.ts";
import { planTraffic } from "../start/traffic.ts";
import { buildDashboard } from "./layout.ts";
import { type Answer, Prometheus } from "./prometheus.ts";

/** What Grafana's `$__rate_interval` is here: four scrapes. */
const RATE_INTERVAL = "4s";

export interface Watched {
  title: string;
  type: string;
  unit: string;
  grid: { x: number; y: number; w: number; h: number };
  queries: { expr: string; legend: string; answers: Answer[] }[];
}

/** One panel of the JSON, as far as it is read here. */
interface Panel {
  title: string;
  type: string;
  gridPos: Watched["grid"];
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string; legendFormat: string }[];
}

/**
 * Runs traffic through Envoy with the filter for some seconds, in front of embedded LLM servers, while
 * a real Prometheus watches, and has it answer every query of the dashboard.
 * @param program Prometheus' binary
 * @param rate requests per second
 */
export async function watchDashboard(
  program: string,
  seconds: number,
  rate: number,
): Promise<Watched[]> {
  const fleet = await startFleet("warmroute", 4, () => ({
    configuration: { discovery: { source: "envoy_admin" } },
    // Histograms show at each flush, by default every five seconds.
    edit: (yaml) => `stats_flush_interval: 1s\n${yaml}`,
  }));
  const prometheus = await Prometheus.start(program, scraping(fleet.envoy)).catch(async (error) => {
    await fleet.stop();
    throw error;
  });
  try {
    const from = Date.now() / 1000;
    await traffic(fleet.envoy, seconds, rate);
    const to = Date.now() / 1000;
    const panels = buildDashboard().panels as unknown as Panel[];
    return await Promise.all(
      panels.map(async ({ title, type, gridPos, fieldConfig, targets = [] }) => ({
        title,
        type,
        unit: fieldConfig?.defaults.unit ?? "",
        grid: gridPos,
        queries: await Promise.all(
          targets.map(async ({ expr, legendFormat }) => ({
            expr,
            legend: legendFormat,
            answers: await prometheus.range(withValues(expr), from, to),
          })),
        ),
      })),
    );
  } finally {
    await prometheus.stop();
    await fleet.stop();
  }
}

/** Asks one Envoy each second. */
function scraping({ adminPort }: EnvoyProcess): object {
  const target = { targets: [`127.0.0.1:${adminPort}`] };
  const job = { job_name: "envoy", metrics_path: "/stats/prometheus", static_configs: [target] };
  return { global: { scrape_interval: "1s" }, scrape_configs: [job] };
}

async function traffic(envoy: EnvoyProcess, seconds: number, rate: number): Promise<void> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const late = setTimeout(() => stop.abort(), seconds * 1000);
  const progress = { outcomes: [], inFlight: 0 };
  const to = { host: "127.0.0.1", port: envoy.port };
  await drive([to], planTraffic(seconds, rate, 1), progress, performance.now(), stop.signal);
  clearTimeout(late);
}

/** What Grafana would ask: each variable at its default. */
function withValues(expr: string): string {
  return expr
    .replaceAll("$__rate_interval", RATE_INTERVAL)
    .replaceAll('"$instance"', '".*"')
    .replace(/"\$\w+"/g, '"llm"');
}
