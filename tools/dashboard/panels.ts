/** What a panel shows; layout.ts makes Grafana's JSON of it. */
export interface PanelPlan {
  title: string;
  /** What it means and when to act, for the panel's tooltip. */
  description: string;
  kind: "lines" | "stacked" | "figure";
  /** Grafana's unit id. */
  unit: string;
  /** Columns of 24. */
  columns: number;
  queries: { expr: string; legend: string }[];
  /** Figures turn red from here; none stays neutral. */
  redFrom?: number;
}

export interface RowPlan {
  title: string;
  panels: PanelPlan[];
}

/** Each Envoy that is chosen at the top of the dashboard. */
const CHOSEN = 'instance=~"$instance"';

const series = (name: string, matchers = ""): string =>
  `${name}{${CHOSEN}${matchers === "" ? "" : `,${matchers}`}}`;

const rate = (name: string, matchers = ""): string =>
  `rate(${series(name, matchers)}[$__rate_interval])`;

const sum = (expr: string, by = ""): string => `sum${by === "" ? "" : ` by (${by})`} (${expr})`;

const quantile = (q: number, histogram: string): string =>
  `histogram_quantile(${q}, ${sum(rate(`${histogram}_bucket`), "le")})`;

const quantiles = (histogram: string, ...qs: number[]) =>
  qs.map((q) => ({ expr: quantile(q, histogram), legend: `p${q * 100}` }));

const share = (part: string, whole: string): string => `${part} / ${whole}`;

const PROMPT = sum(rate("warmroute_prompt_tokens_total"));
const REPORTED = share(sum(rate("warmroute_reported_cached_tokens_total")), PROMPT);
const EXPECTED = share(sum(rate("warmroute_expected_cached_tokens_total")), PROMPT);
const LISTENER = 'envoy_http_conn_manager_prefix=~"$listener"';
const CLUSTER = 'envoy_cluster_name=~"$cluster"';

export const ROWS: RowPlan[] = [
  {
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
  },
  {
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
  },
  {
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
        title: "Prediction error, median",
        description: "By how much predictions missed what answers showed.",
        kind: "lines",
        unit: "percent",
        columns: 12,
        queries: [
          { expr: quantile(0.5, "warmroute_ttft_error_percent"), legend: "time to first token" },
          { expr: quantile(0.5, "warmroute_prompt_tokens_error_percent"), legend: "prompt tokens" },
          { expr: quantile(0.5, "warmroute_output_tokens_error_percent"), legend: "output tokens" },
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
  },
  {
    title: "Servers",
    panels: [
      {
        title: "In flight by server",
        description: "Requests that each server works on, as this Envoy counts them.",
        kind: "lines",
        unit: "short",
        columns: 12,
        queries: [{ expr: sum(series("warmroute_in_flight"), "host"), legend: "{{host}}" }],
      },
      {
        title: "Busiest server beside the mean",
        description: "In-flight requests of the busiest server over the mean of all; 1 is even.",
        kind: "lines",
        unit: "short",
        columns: 6,
        queries: [
          {
            expr: `max(${sum(series("warmroute_in_flight"), "host")}) / (avg(${sum(series("warmroute_in_flight"), "host")}) > 0)`,
            legend: "busiest / mean",
          },
        ],
      },
      {
        title: "Healthy members",
        description: "Of the cluster of LLM servers, by Envoy's health checks.",
        kind: "lines",
        unit: "short",
        columns: 6,
        queries: [
          {
            expr: `min by (envoy_cluster_name) (${series("envoy_cluster_membership_healthy", CLUSTER)})`,
            legend: "{{envoy_cluster_name}}: healthy",
          },
          {
            expr: `max by (envoy_cluster_name) (${series("envoy_cluster_membership_total", CLUSTER)})`,
            legend: "{{envoy_cluster_name}}: all",
          },
        ],
      },
      {
        title: "Metrics of servers: asked and not got",
        description: "A server whose metrics don't come counts as stale after a while.",
        kind: "lines",
        unit: "reqps",
        columns: 12,
        queries: [
          { expr: sum(rate("warmroute_scrapes_total")), legend: "asked" },
          { expr: sum(rate("warmroute_scrape_failures_total")), legend: "not got" },
          { expr: sum(rate("warmroute_discovery_polls_total")), legend: "admin interface asked" },
          { expr: sum(rate("warmroute_discovery_failures_total")), legend: "no good answer" },
        ],
      },
      {
        title: "Stale servers",
        description: "By Envoy. What is stale never means full or idle.",
        kind: "lines",
        unit: "short",
        columns: 6,
        queries: [{ expr: series("warmroute_stale_hosts"), legend: "{{instance}}" }],
      },
      {
        title: "Retries",
        description: "Tries that went to the next server of the list.",
        kind: "lines",
        unit: "reqps",
        columns: 6,
        queries: [
          { expr: sum(rate("envoy_cluster_upstream_rq_retry", CLUSTER)), legend: "retries" },
        ],
      },
    ],
  },
  {
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
  },
  {
    title: "The filter itself",
    panels: [
      {
        title: "Location table",
        description: "Locations remembered.",
        kind: "lines",
        unit: "short",
        columns: 6,
        queries: [{ expr: series("warmroute_table_entries"), legend: "{{instance}}" }],
      },
      {
        title: "Live locations overwritten",
        description: "Above 0 for long: affinity.table_bytes is small for the traffic.",
        kind: "lines",
        unit: "ops",
        columns: 6,
        queries: [
          {
            expr: sum(rate("warmroute_table_evictions_total"), "instance"),
            legend: "{{instance}}",
          },
        ],
      },
      {
        title: "Faults",
        description:
          "All at 0 when well. Internal errors: Envoy chose. Headers not held: allow_on_headers_stop_iteration is missing. Choices ignored: the cluster lacks override_host. Reloads: the VM had failed and was made anew.",
        kind: "lines",
        unit: "ops",
        columns: 6,
        queries: [
          { expr: sum(rate("warmroute_internal_errors_total")), legend: "internal errors" },
          { expr: sum(rate("warmroute_headers_not_held_total")), legend: "headers not held" },
          { expr: sum(rate("warmroute_choices_ignored_total")), legend: "choices ignored" },
          { expr: sum(rate("envoy_wasm_warmroute_vm_reload")), legend: "VM reloads" },
        ],
      },
      {
        title: "Envoy's memory",
        description: "Physical memory of the Envoy process.",
        kind: "lines",
        unit: "bytes",
        columns: 6,
        queries: [{ expr: series("envoy_server_memory_physical_size"), legend: "{{instance}}" }],
      },
    ],
  },
];
