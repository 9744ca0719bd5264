import type { RowPlan } from "../plan.ts";
import { EXPECTED, missed, quantiles, REPORTED, rate, sum } from "../queries.ts";

export const DECISIONS: RowPlan = {
  title: "How it decides",
  panels: [
    {
      title: "Decisions by reason",
      description:
        "session, prefix: sent where its cache is. load: a warm server was too busy. cold: no server had it. fallback: another than the first choice served. opaque: nothing readable in the body.",
      kind: "stacked",
      unit: "reqps",
      columns: 12,
      queries: [
        { expr: `${sum(rate("warmroute_decisions_total"), "reason")} > 0`, legend: "{{reason}}" },
      ],
    },
    {
      title: "Cached share of prompt tokens: expected and reported",
      description:
        "What the filter expected in the chosen server's cache, and what the server then said. Reported stays near 0 where servers don't report it (vLLM: --enable-prompt-tokens-details).",
      kind: "lines",
      unit: "percentunit",
      columns: 12,
      queries: [
        { expr: EXPECTED, legend: "expected" },
        { expr: REPORTED, legend: "reported" },
      ],
    },
    {
      title: "Predictions: off by",
      description:
        "What predictions missed, as a share of what came: time to the first token of streamed answers, prompt tokens, output tokens.",
      kind: "lines",
      unit: "percentunit",
      columns: 12,
      queries: [
        { expr: missed("ttft", "_ms"), legend: "time to first token" },
        { expr: missed("prompt_tokens"), legend: "prompt tokens" },
        { expr: missed("output_tokens"), legend: "output tokens" },
      ],
    },
    {
      title: "Time to decide",
      description: "From the end of a body to its decision.",
      kind: "lines",
      unit: "µs",
      columns: 12,
      queries: quantiles("warmroute_decision_us", 0.5, 0.99),
    },
  ],
};
