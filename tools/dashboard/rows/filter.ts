import type { RowPlan } from "../plan.ts";
import { rate, series, sum } from "../queries.ts";

export const FILTER: RowPlan = {
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
        "All at 0 when well. Internal errors: Envoy chose. Headers not held: allow_on_headers_stop_iteration is missing. Choices ignored: the cluster lacks override_host. Headers removed: requests came with a choice of their own. Reloads: the VM had failed and was made anew.",
      kind: "lines",
      unit: "ops",
      columns: 6,
      queries: [
        { expr: sum(rate("warmroute_internal_errors_total")), legend: "internal errors" },
        { expr: sum(rate("warmroute_headers_not_held_total")), legend: "headers not held" },
        { expr: sum(rate("warmroute_choices_ignored_total")), legend: "choices ignored" },
        { expr: sum(rate("warmroute_headers_removed_total")), legend: "headers removed" },
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
};
