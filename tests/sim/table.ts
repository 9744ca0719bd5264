import type { Summary } from "./summary.ts";

const COLUMNS: readonly [string, (summary: Summary) => string][] = [
  ["policy", (s) => s.policy],
  ["requests", (s) => `${s.requests}`],
  ["rejected", (s) => `${s.rejected}`],
  ["failed", (s) => `${s.failed}`],
  ["ttft p50", (s) => ms(s.ttft_ms.p50)],
  ["p90", (s) => ms(s.ttft_ms.p90)],
  ["p99 ms", (s) => ms(s.ttft_ms.p99)],
  ["tpot p50", (s) => s.tpot_ms.p50.toFixed(1)],
  ["p99 ms", (s) => s.tpot_ms.p99.toFixed(1)],
  ["e2e p50 ms", (s) => ms(s.e2e_ms.p50)],
  ["cached", (s) => percent(s.cached_token_share)],
  ["busiest", (s) => s.busiest_over_mean.toFixed(2)],
  ["within SLO", (s) => percent(s.goodput_share)],
  ["good/s", (s) => s.goodput_per_s.toFixed(2)],
  ["took s", (s) => s.wall_s.toFixed(1)],
];

/** A table for the terminal, one line per policy. */
export function table(summaries: readonly Summary[]): string {
  const rows = [
    COLUMNS.map(([title]) => title),
    ...summaries.map((summary) => COLUMNS.map(([, cell]) => cell(summary))),
  ];
  const widths = COLUMNS.map((_, i) => Math.max(...rows.map((row) => (row[i] as string).length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join("  "),
    )
    .join("\n");
}

function ms(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
