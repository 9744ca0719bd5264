import type { RunResult } from "./outcome.ts";
import { type Axis, barChart, type Line, lineChart } from "./plot.ts";
import type { Report } from "./report.ts";
import { type Summary, ttftMs } from "./summary.ts";

/** One policy's run with its figures, for the plots. */
export interface PlotRun {
  result: RunResult;
  summary: Summary;
}

const STYLE = `
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1080px; padding: 0 1rem;
  color: #1c2530; background: #fff; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .2rem; }
p { margin: .2rem 0 .8rem; color: #55606d; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #dde3ea; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; color: #55606d; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(480px, 1fr)); gap: 1rem; }
svg { width: 100%; height: auto; display: block; } svg text { font: 12px system-ui, sans-serif; }
`;

const COLORS = [
  "#d9480f",
  "#1971c2",
  "#2b8a3e",
  "#862e9c",
  "#e67700",
  "#0b7285",
  "#c2255c",
  "#5f3dc4",
  "#5c940d",
  "#868e96",
  "#212529",
];

/** A page that stands alone: no scripts, no network. */
export function htmlPage(report: Report, runs: readonly PlotRun[]): string {
  const color = (name: string): string => {
    const at = Object.keys(report.policies).indexOf(name);
    return COLORS[at % COLORS.length] as string;
  };
  const sections = [
    summaryTable(runs.map(({ summary }) => summary)),
    section(
      "Time to first token",
      "Share of requests that had their first token within a time. Further left is better.",
      lineChart(
        runs.map((run) => ttftLine(run, color(run.summary.policy))),
        { label: "TTFT, ms", log: true },
        { label: "share of requests", log: false, from: 0, to: 1 },
      ),
    ),
    section(
      "Cached share of prompt tokens",
      "What the servers did not have to compute again.",
      barChart(
        runs.map(({ summary }) => ({
          name: summary.policy,
          color: color(summary.policy),
          value: summary.cached_token_share,
        })),
      ),
    ),
    report.rates.length > 1 ? goodputSection(report, color) : "",
    section(
      "Requests at each server over time",
      "One line a server, running and waiting. Lines close together are an even load.",
      `<div class="grid">${runs.map(loadChart).join("")}</div>`,
    ),
  ];
  const about =
    `${report.servers} servers, ${report.gateways} gateways, rate ${report.rate}, ` +
    `seed ${report.seed}, ${report.half} of the workload. Goals: TTFT ` +
    `${report.slo.ttft_ms} ms or ${report.slo.prefill_factor} times the prompt's prefill alone, ` +
    `${report.slo.tpot_ms} ms per output token.`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(report.workload)}</title>
<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head><body>
<h1>${escapeHtml(report.workload)}</h1><p>${escapeHtml(about)}</p>
${sections.join("\n")}
</body></html>
`;
}

function section(title: string, about: string, content: string): string {
  return `<h2>${title}</h2><p>${about}</p>${content}`;
}

function summaryTable(summaries: readonly Summary[]): string {
  const titles = ["policy", "TTFT p50", "p90", "p99 ms", "TPOT p50 ms", "cached", "busiest / mean"];
  titles.push("within goals", "rejected");
  const rows = summaries.map((s) =>
    [
      s.policy,
      s.ttft_ms.p50.toFixed(0),
      s.ttft_ms.p90.toFixed(0),
      s.ttft_ms.p99.toFixed(0),
      s.tpot_ms.p50.toFixed(1),
      `${(100 * s.cached_token_share).toFixed(1)} %`,
      s.busiest_over_mean.toFixed(2),
      `${(100 * s.goodput_share).toFixed(1)} %`,
      `${s.rejected}`,
    ]
      .map((cell) => `<td>${escapeHtml(cell)}</td>`)
      .join(""),
  );
  const head = titles.map((title) => `<th>${title}</th>`).join("");
  return `<table><tr>${head}</tr>${rows.map((row) => `<tr>${row}</tr>`).join("")}</table>`;
}

function ttftLine({ result, summary }: PlotRun, color: string): Line {
  const sorted = result.outcomes
    .filter((outcome) => outcome.state === "done")
    .map(ttftMs)
    .sort((a, b) => a - b);
  const points: [number, number][] = [];
  for (let i = 0; i <= 200; i += 1) {
    const at = Math.min(sorted.length - 1, Math.floor((i / 200) * sorted.length));
    const value = sorted[at];
    if (value !== undefined) points.push([Math.max(1, value), i / 200]);
  }
  return { name: summary.policy, color, points };
}

function loadChart({ result, summary }: PlotRun): string {
  const lines = Array.from({ length: result.servers }, (_, server) => ({
    name: "",
    color: COLORS[server % COLORS.length] as string,
    points: result.loads.map(({ atMs, running, waiting }): [number, number] => [
      atMs / 1000,
      (running[server] ?? 0) + (waiting[server] ?? 0),
    ]),
  }));
  const y: Axis = { label: summary.policy, log: false, from: 0 };
  return `<div>${lineChart(lines, { label: "seconds", log: false, from: 0 }, y)}</div>`;
}

function goodputSection(report: Report, color: (name: string) => string): string {
  const lines = Object.keys(report.policies).map((name) => ({
    name,
    color: color(name),
    points: report.rates.map(({ rate, policies }): [number, number] => [
      rate,
      policies[name]?.goodput_share ?? 0,
    ]),
  }));
  return section(
    "Goodput against rate",
    "Share of requests within the goals as the rate of arrivals grows.",
    lineChart(
      lines,
      { label: "rate", log: false },
      { label: "within goals", log: false, from: 0, to: 1 },
    ),
  );
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
