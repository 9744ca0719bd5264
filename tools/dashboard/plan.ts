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
