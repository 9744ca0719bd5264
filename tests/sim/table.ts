import type { Summary } from "./summary.ts";

/** Columns with the heading that they share, if any, and their own. */
const COLUMNS: readonly [group: string, title: string, cell: (summary: Summary) => string][] = [
  ["", "policy", (s) => s.policy],
  ["", "requests", (s) => `${s.requests}`],
  ["TTFT ms", "p50", (s) => ms(s.ttft_ms.p50)],
  ["", "p90", (s) => ms(s.ttft_ms.p90)],
  ["", "p99", (s) => ms(s.ttft_ms.p99)],
  ["TPOT ms", "p50", (s) => s.tpot_ms.p50.toFixed(1)],
  ["", "p99", (s) => s.tpot_ms.p99.toFixed(1)],
  ["e2e ms", "p50", (s) => ms(s.e2e_ms.p50)],
  ["cached", "share", (s) => percent(s.cached_token_share)],
  ["busiest", "÷ mean", (s) => s.busiest_over_mean.toFixed(2)],
  ["within", "SLO", (s) => percent(s.goodput_share)],
  ["good", "per s", (s) => s.goodput_per_s.toFixed(2)],
  ["re-", "jected", (s) => `${s.rejected}`],
  ["", "failed", (s) => `${s.failed}`],
  ["took", "s", (s) => s.wall_s.toFixed(1)],
];

/** A table for the terminal, one line per policy under two of headings. */
export function table(summaries: readonly Summary[]): string {
  const rows = [
    COLUMNS.map(([group]) => group),
    COLUMNS.map(([, title]) => title),
    ...summaries.map((summary) => COLUMNS.map(([, , cell]) => cell(summary))),
  ];
  const widths = COLUMNS.map((_, i) => Math.max(...rows.map((row) => (row[i] as string).length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function ms(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
