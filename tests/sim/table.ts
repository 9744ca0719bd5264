import type { Summary } from "./summary.ts";

/** A column with the heading that it shares, if any, and its own. */
type Column = [group: string, title: string, cell: (summary: Summary) => string];

const COLUMNS: readonly Column[] = [
  ["", "policy", (s) => s.policy],
  ["", "requests", (s) => `${s.requests}`],
  // A heading over several columns is cut into theirs: it makes none of them wider.
  ["TTFT", "p50", (s) => ms(s.ttft_ms.p50)],
  ["ms", "p90", (s) => ms(s.ttft_ms.p90)],
  ["", "p99", (s) => ms(s.ttft_ms.p99)],
  ["TPOT", "p50", (s) => s.tpot_ms.p50.toFixed(1)],
  ["ms", "p99", (s) => s.tpot_ms.p99.toFixed(1)],
  ["e2e ms", "p50", (s) => ms(s.e2e_ms.p50)],
  ["cached", "share", (s) => percent(s.cached_token_share)],
  ["busiest", "÷ mean", (s) => s.busiest_over_mean.toFixed(2)],
  ["within", "SLO", (s) => percent(s.goodput_share)],
  ["good", "per s", (s) => s.goodput_per_s.toFixed(2)],
  ["not", "served", (s) => `${s.rejected + s.failed}`],
  ["took", "s", (s) => s.wall_s.toFixed(1)],
];

/** What a narrow terminal goes without: the first of them first, by their headings. */
const SPARE = ["took s", "good per s", "e2e ms p50", " requests"];

/**
 * A table for the terminal, one line per policy under two of headings.
 * @param width columns of the terminal; unlimited where there is none
 */
export function table(summaries: readonly Summary[], width = Number.POSITIVE_INFINITY): string {
  let spared = 0;
  let lines = linesOf(summaries, COLUMNS);
  while (spared < SPARE.length && Math.max(...lines.map((line) => line.length)) > width) {
    const gone = SPARE.slice(0, ++spared);
    const kept = COLUMNS.filter(([group, title]) => !gone.includes(`${group} ${title}`));
    lines = linesOf(summaries, kept);
  }
  return lines.join("\n");
}

function linesOf(summaries: readonly Summary[], columns: readonly Column[]): string[] {
  const rows = [
    columns.map(([group]) => group),
    columns.map(([, title]) => title),
    ...summaries.map((summary) => columns.map(([, , cell]) => cell(summary))),
  ];
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => (row[i] as string).length)));
  return rows.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

function ms(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
