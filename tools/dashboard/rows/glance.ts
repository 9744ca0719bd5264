import type { RowPlan } from "../plan.ts";
import { quantile, REPORTED, rate, series, sum } from "../queries.ts";

export const GLANCE: RowPlan = {
  title: "At a glance",
  panels: [
    {
      title: "Requests",
      description: "Inference requests per second, by all chosen Envoys.",
      kind: "figure",
      unit: "reqps",
      columns: 4,
      queries: [{ expr: sum(rate("warmroute_decisions_total")), legend: "" }],
    },
    {
      title: "TTFT p90",
      description: "Time to the first token that nine of ten streamed answers stay below.",
      kind: "figure",
      unit: "ms",
      columns: 4,
      queries: [{ expr: quantile(0.9, "warmroute_ttft_ms"), legend: "" }],
    },
    {
      title: "Cached share",
      description: "Share of prompt tokens that the servers say were in their KV cache.",
      kind: "figure",
      unit: "percentunit",
      columns: 4,
      queries: [{ expr: REPORTED, legend: "" }],
    },
    {
      title: "Rejected",
      description: "Requests per second answered 429 because no server had room in time.",
      kind: "figure",
      unit: "reqps",
      columns: 4,
      queries: [{ expr: sum(rate("warmroute_rejected_total")), legend: "" }],
      redFrom: 0.01,
    },
    {
      title: "Stale servers",
      description: "Servers whose last metrics report is too old to count.",
      kind: "figure",
      unit: "short",
      columns: 4,
      queries: [{ expr: `max(${series("warmroute_stale_hosts")})`, legend: "" }],
      redFrom: 1,
    },
    {
      title: "Internal errors",
      description: "In the last hour. Envoy chose for these requests; the log says more.",
      kind: "figure",
      unit: "short",
      columns: 4,
      queries: [
        { expr: sum(`increase(${series("warmroute_internal_errors_total")}[1h])`), legend: "" },
      ],
      redFrom: 1,
    },
  ],
};
