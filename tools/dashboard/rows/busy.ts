import type { RowPlan } from "../plan.ts";
import { quantiles, rate, series, sum } from "../queries.ts";

export const BUSY: RowPlan = {
  title: "When servers are busy",
  panels: [
    {
      title: "Requests held",
      description: "Because no server has room. Above 0 for long: there is too little capacity.",
      kind: "lines",
      unit: "short",
      columns: 8,
      queries: [
        { expr: sum(series("warmroute_queue_length"), "instance"), legend: "{{instance}}" },
      ],
    },
    {
      title: "Time held",
      description: "Of requests that were held.",
      kind: "lines",
      unit: "ms",
      columns: 8,
      queries: quantiles("warmroute_queue_wait_ms", 0.5, 0.99),
    },
    {
      title: "Rejected by cause",
      description: "Answered 429 with retry-after.",
      kind: "stacked",
      unit: "reqps",
      columns: 8,
      queries: [{ expr: sum(rate("warmroute_rejected_total"), "cause"), legend: "{{cause}}" }],
    },
  ],
};
