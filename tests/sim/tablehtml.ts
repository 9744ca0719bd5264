import type { Summary } from "./summary.ts";

/** A column of the page's table; `better` says which value is the best, none for neither. */
interface Column {
  title: string;
  of(summary: Summary): number;
  show(value: number): string;
  better: "less" | "more" | undefined;
}

const GROUPS: [title: string, columns: Column[]][] = [
  ["first token, ms", ["p50", "p90", "p99"].map((p) => time("ttft_ms", p as "p50"))],
  ["ms per output token", ["p50", "p99"].map((p) => time("tpot_ms", p as "p50", 1))],
  ["", [share("cached", "cached_token_share"), share("in goals", "goodput_share")]],
  [
    "",
    [
      {
        title: "busiest ÷ mean",
        of: (summary) => summary.busiest_over_mean,
        show: (value) => value.toFixed(2),
        better: "less",
      },
      {
        title: "not served",
        of: ({ rejected, failed }) => rejected + failed,
        show: String,
        better: undefined,
      },
    ],
  ],
];

function time(field: "ttft_ms" | "tpot_ms", quantile: "p50" | "p90" | "p99", digits = 0): Column {
  const show = (value: number): string =>
    digits > 0 ? value.toFixed(digits) : Math.round(value).toLocaleString("en");
  return { title: quantile, of: (summary) => summary[field][quantile], show, better: "less" };
}

function share(title: string, field: "cached_token_share" | "goodput_share"): Column {
  const show = (value: number): string => `${(100 * value).toFixed(1)} %`;
  return { title, of: (summary) => summary[field], show, better: "more" };
}

/** The figures of all policies; the best of each column stands out, ties as they are shown. */
export function summaryTable(summaries: readonly Summary[]): string {
  const columns = GROUPS.flatMap(([, list]) => list);
  const bests = columns.map(({ of, show, better }) => {
    if (better === undefined || summaries.length < 2) return undefined;
    return show((better === "less" ? Math.min : Math.max)(...summaries.map(of)));
  });
  const groups = GROUPS.map(
    ([title, list]) => `<th class="group" colspan="${list.length}">${title}</th>`,
  ).join("");
  const titles = columns.map(({ title }) => `<th>${title}</th>`).join("");
  const rows = summaries.map((summary) => {
    const cells = columns.map(({ of, show }, i) => {
      const text = show(of(summary));
      return text === bests[i] ? `<td class="best">${text}</td>` : `<td>${text}</td>`;
    });
    return `<tr><td>${summary.policy}</td>${cells.join("")}</tr>`;
  });
  return (
    `<div class="wide"><table><tr><th></th>${groups}</tr><tr><th>policy</th>${titles}</tr>` +
    `${rows.join("")}</table></div><p>Bold: the best of a column. Cached: share of prompt tokens. ` +
    "In goals: share of requests. Busiest ÷ mean: tokens of the busiest server over the mean.</p>"
  );
}
