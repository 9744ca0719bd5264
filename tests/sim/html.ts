import { POLICY_NAMES } from "./options.ts";
import type { RunResult } from "./outcome.ts";
import {
  type Line,
  type Look,
  lineChart,
  lookOf,
  PLOT_STYLE,
  SHADES_GRADIENT,
  shadeChart,
} from "./plot.ts";
import type { Report } from "./report.ts";
import { type Summary, ttftMs } from "./summary.ts";
import { summaryTable } from "./tablehtml.ts";
import { escapeHtml, many } from "./text.ts";

/** One policy's run with its figures, for the plots. */
export interface PlotRun {
  result: RunResult;
  summary: Summary;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2530; --ground: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --ground: #14181d; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 940px; padding: 0 1rem;
  color: var(--ink); background: var(--ground); }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .2rem; }
h3 { font-size: .95rem; margin: .8rem 0 0; } p { margin: .2rem 0 .8rem; color: var(--quiet); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .5rem; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }
th { font-weight: 600; color: var(--quiet); } th.group { text-align: center; }
tr:first-child th { border-bottom: 0; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--ground); }
td.best { font-weight: 700; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .4rem 0; }
.key { display: inline-block; width: 1.5em; border-top: .25em solid; margin-right: .4em;
  vertical-align: middle; }
.dashed { border-top-style: dashed; }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: .3rem .8rem;
  align-items: center; }
.bar { height: 1.1em; display: inline-block; vertical-align: middle; margin-right: .5em; }
.shades { display: inline-block; width: 8em; height: .9em; vertical-align: middle; margin: 0 .5em; }
@media (max-width: 640px) { body { margin-top: 1rem; } th, td { padding: .3rem .4rem; } }
`;

/** A policy looks the same on every page. */
const look = (policy: string): Look => lookOf(POLICY_NAMES.indexOf(policy));

/** Bars leave room for their figure. */
const LONGEST_BAR_PERCENT = 78;
const COLUMNS_OF_SHADES = 110;

/** A page that stands alone: no scripts, no network. */
export function htmlPage(report: Report, runs: readonly PlotRun[]): string {
  const names = Object.keys(report.policies);
  const legend = legendOf(names);
  const percent = (share: number): string => `${Math.round(share * 100)} %`;
  const title = escapeHtml(report.workload);
  const body = [
    `<h1>${title}</h1><p>${escapeHtml(about(report))}</p>`,
    summaryTable(runs.map(({ summary }) => summary)),
    section(
      "Time to first token",
      "Share of requests that had their first token within a time. Further left is better; " +
        "where a line crosses 50, 90 and 99 % are the p50, p90 and p99 of the table.",
      legend +
        lineChart(
          runs.map(ttftLine),
          { label: "time to first token (logarithmic)", log: true, show: duration },
          {
            label: "share of requests",
            from: 0,
            to: 1,
            ticks: [0, 0.25, 0.5, 0.75, 0.9, 0.99],
            show: percent,
          },
        ),
    ),
    section(
      "Prompt tokens found in a cache",
      "Of all prompt tokens, those that the servers did not have to compute again. " +
        "More is better.",
      cachedBars(runs),
    ),
    report.rates.length > 1
      ? section(
          "Goodput against rate",
          "Share of requests within the goals as more arrive. Higher is better.",
          legend + goodputChart(report, percent),
        )
      : "",
    loadSection(runs),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}, warmroute simulation</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${STYLE}${PLOT_STYLE}</style></head><body>
${body.join("\n")}
</body></html>
`;
}

function about({ servers, gateways, rate, seed, half, slo }: Report): string {
  return (
    `${many(servers, "server")} behind ${many(gateways, "gateway")}, ` +
    `arrivals at ${rate} × the workload's rate, seed ${seed}, ` +
    `${half === "all" ? "the whole workload" : `${half} half of the workload`}. ` +
    `Goals: first token within ${duration(slo.ttft_ms)} or ${slo.prefill_factor} times the ` +
    `prompt's prefill alone, then ${slo.tpot_ms} ms per output token.`
  );
}

function section(title: string, text: string, content: string): string {
  return `<h2>${title}</h2><p>${text}</p>${content}`;
}

function legendOf(names: readonly string[]): string {
  const keys = names.map((name) => {
    const { color, isDashed } = look(name);
    const key = `<i class="key${isDashed ? " dashed" : ""}" style="border-color:${color}"></i>`;
    return `<span>${key}${escapeHtml(name)}</span>`;
  });
  return `<div class="legend">${keys.join("")}</div>`;
}

function ttftLine({ result, summary }: PlotRun): Line {
  const sorted = result.outcomes
    .filter((outcome) => outcome.state === "done")
    .map(ttftMs)
    .sort((a, b) => a - b);
  const points: [number, number][] = [];
  for (let i = 0; i <= 400; i += 1) {
    const at = Math.min(sorted.length - 1, Math.floor((i / 400) * sorted.length));
    const value = sorted[at];
    if (value !== undefined) points.push([Math.max(1, value), i / 400]);
  }
  return { name: summary.policy, look: look(summary.policy), points };
}

function cachedBars(runs: readonly PlotRun[]): string {
  const bars = runs.map(({ summary: { policy, cached_token_share: share } }) => {
    const width = (share * LONGEST_BAR_PERCENT).toFixed(1);
    return (
      `<span>${escapeHtml(policy)}</span><span>` +
      `<i class="bar" style="width:${width}%;background:${look(policy).color}"></i>` +
      `${(100 * share).toFixed(1)} %</span>`
    );
  });
  return `<div class="bars">${bars.join("")}</div>`;
}

function goodputChart(report: Report, percent: (share: number) => string): string {
  const lines = Object.keys(report.policies).map((name) => ({
    name,
    look: look(name),
    points: report.rates
      .map(({ rate, policies }): [number, number] => [rate, policies[name]?.goodput_share ?? 0])
      .sort(([a], [b]) => a - b),
  }));
  return lineChart(
    lines,
    { label: "arrivals, times the workload's rate", show: (rate) => `${Number(rate.toFixed(2))}` },
    { label: "requests within the goals", from: 0, to: 1, show: percent },
  );
}

/** Per policy the requests at each server over time, all on one scale. */
function loadSection(runs: readonly PlotRun[]): string {
  const charts = runs.map(({ result, summary }) => ({ result, summary, rows: loadRows(result) }));
  const top = Math.max(1, ...charts.flatMap(({ rows }) => rows.flat().filter(Number.isFinite)));
  const scale =
    `<div class="legend"><span>0<i class="shades" ` +
    `style="background:${SHADES_GRADIENT}"></i>${Math.round(top)} requests, ` +
    "running and waiting</span></div>";
  const parts = charts.map(({ result, summary, rows }) => {
    const endSeconds = Math.max(1, (result.loads.at(-1)?.atMs ?? 0) / 1000);
    const chart = shadeChart(
      { label: "requests at each server", rows, top, rowName: (row) => `${row + 1}` },
      { label: "seconds", from: 0, to: endSeconds, show: (seconds) => `${Math.round(seconds)}` },
    );
    return `<h3>${escapeHtml(summary.policy)}</h3>${chart}`;
  });
  return section(
    "Requests at each server over time",
    "One row a server, numbered from 1. Rows of equal shades are an even load; a row that stands " +
      "out is a hot server.",
    scale + parts.join(""),
  );
}

/** Mean requests, running and waiting, per server in equal spans of the run. */
function loadRows({ loads, servers }: RunResult): number[][] {
  const endMs = Math.max(1, loads.at(-1)?.atMs ?? 1);
  const columns = Math.max(1, Math.min(COLUMNS_OF_SHADES, loads.length));
  const samples = new Array<number>(columns).fill(0);
  const sums = Array.from({ length: servers }, () => new Array<number>(columns).fill(0));
  for (const { atMs, running, waiting } of loads) {
    const column = Math.min(columns - 1, Math.floor((atMs / endMs) * columns));
    samples[column] = (samples[column] as number) + 1;
    sums.forEach((row, server) => {
      const requests = (running[server] ?? 0) + (waiting[server] ?? 0);
      row[column] = (row[column] as number) + requests;
    });
  }
  return sums.map((row) => row.map((sum, column) => sum / (samples[column] as number)));
}

/** `250 ms`, `2 s`. */
function duration(ms: number): string {
  return ms < 1000 ? `${Number(ms.toPrecision(3))} ms` : `${Number((ms / 1000).toPrecision(3))} s`;
}
