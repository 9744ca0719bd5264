import * as common from "@grafana/grafana-foundation-sdk/common";
import * as dashboard from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as TimeseriesBuilder } from "@grafana/grafana-foundation-sdk/timeseries";
import type { PanelPlan } from "./plan.ts";
import { ROWS } from "./rows/index.ts";

const COLUMNS = 24;
const FIGURE_LINES = 4;
const GRAPH_LINES = 8;

const DATASOURCE = { type: "prometheus", uid: "$datasource" };

/** The dashboard, as Grafana imports it. */
export function buildDashboard(): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder("warmroute")
    .uid("warmroute")
    .description("Routing of LLM requests by KV cache and load: what users get, and why.")
    .tags(["envoy", "llm"])
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .time({ from: "now-30m", to: "now" })
    .refresh("10s")
    .withVariable(new dashboard.DatasourceVariableBuilder("datasource").type("prometheus"))
    .withVariable(choice("instance", "Envoy", "warmroute_decisions_total", "instance", ".*"))
    .withVariable(
      choice(
        "listener",
        "Listener",
        "envoy_http_downstream_rq_xx",
        "envoy_http_conn_manager_prefix",
        "llm",
      ),
    )
    .withVariable(
      choice("cluster", "Cluster", "envoy_cluster_membership_total", "envoy_cluster_name", "llm"),
    );
  let y = 0;
  for (const { title, panels } of ROWS) {
    builder.withRow(new dashboard.RowBuilder(title).gridPos({ x: 0, y, w: COLUMNS, h: 1 }));
    y += 1;
    let x = 0;
    for (const plan of panels) {
      const h = plan.kind === "figure" ? FIGURE_LINES : GRAPH_LINES;
      builder.withPanel(panel(plan).gridPos({ x, y, w: plan.columns, h }));
      x += plan.columns;
      if (x < COLUMNS) continue;
      x = 0;
      y += h;
    }
    if (x !== 0) throw new Error(`row "${title}": columns must fill lines of ${COLUMNS}`);
  }
  const built = builder.build();
  // Ids that stay the same, so that links to panels do.
  built.panels?.forEach((each, i) => {
    each.id = i + 1;
  });
  return built;
}

/** A choice of several of a label's values; `initial` is a value, or `.*` for all. */
function choice(name: string, label: string, metric: string, of: string, initial: string) {
  const all = initial === ".*";
  const current = all ? { text: "All", value: "$__all" } : { text: initial, value: initial };
  return new dashboard.QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(`label_values(${metric}, ${of})`)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .allValue(".*")
    .current({ selected: true, text: [current.text], value: [current.value] });
}

function panel(plan: PanelPlan): StatBuilder | TimeseriesBuilder {
  const builder = plan.kind === "figure" ? figure(plan) : graph(plan);
  builder
    .title(plan.title)
    .description(plan.description)
    .unit(plan.unit)
    .min(0)
    .datasource(DATASOURCE);
  plan.queries.forEach(({ expr, legend }, i) => {
    const refId = String.fromCharCode(65 + i);
    builder.withTarget(new DataqueryBuilder().refId(refId).expr(expr).legendFormat(legend));
  });
  return builder;
}

function figure({ redFrom }: PanelPlan): StatBuilder {
  const steps: dashboard.Threshold[] = [{ value: null, color: redFrom ? "green" : "text" }];
  if (redFrom !== undefined) steps.push({ value: redFrom, color: "red" });
  return new StatBuilder()
    .thresholds(
      new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps(steps),
    )
    .graphMode(common.BigValueGraphMode.Area)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(["lastNotNull"]));
}

function graph({ kind }: PanelPlan): TimeseriesBuilder {
  const builder = new TimeseriesBuilder()
    .lineWidth(1)
    .fillOpacity(kind === "stacked" ? 30 : 5)
    .showPoints(common.VisibilityMode.Never)
    .legend(
      new common.VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom),
    )
    .tooltip(new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi));
  if (kind !== "stacked") return builder;
  return builder.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal));
}
