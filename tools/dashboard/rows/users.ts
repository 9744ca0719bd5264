import type { RowPlan } from "../plan.ts";
import { LISTENER, quantiles, rate, sum } from "../queries.ts";

export const USERS: RowPlan = {
  title: "What users get",
  panels: [
    {
      title: "Time to first token",
      description:
        "Of streamed answers, from the end of the request's body to the first byte; time held by admission included.",
      kind: "lines",
      unit: "ms",
      columns: 12,
      queries: quantiles("warmroute_ttft_ms", 0.5, 0.9, 0.99),
    },
    {
      title: "Responses by status",
      description: "As the listener answered, per second.",
      kind: "stacked",
      unit: "reqps",
      columns: 12,
      queries: [
        {
          expr: sum(rate("envoy_http_downstream_rq_xx", LISTENER), "envoy_response_code_class"),
          legend: "{{envoy_response_code_class}}xx",
        },
      ],
    },
  ],
};
