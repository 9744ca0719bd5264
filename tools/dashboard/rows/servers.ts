import type { RowPlan } from "../plan.ts";
import { CLUSTER, rate, series, sum } from "../queries.ts";

export const SERVERS: RowPlan = {
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
      queries: [{ expr: sum(rate("envoy_cluster_upstream_rq_retry", CLUSTER)), legend: "retries" }],
    },
  ],
};
