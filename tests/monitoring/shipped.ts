import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { ROOT } from "../../tools/paths.ts";

/** Where monitoring files lie. */
export const MONITORING = join(ROOT, "monitoring");

export interface Query {
  /** For messages: the panel or alert that asks. */
  of: string;
  expr: string;
}

interface Panel {
  id: number;
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { refId: string; expr: string }[];
}

export interface Dashboard {
  uid: string;
  panels: Panel[];
  templating: { list: { name: string; query: string }[] };
}

export function dashboard(): Dashboard {
  return JSON.parse(readFileSync(join(MONITORING, "grafana", "warmroute.json"), "utf8"));
}

interface Rules {
  groups: { name: string; rules: { alert: string; expr: string }[] }[];
}

function alerts(): { alert: string; expr: string }[] {
  const text = readFileSync(join(MONITORING, "prometheus", "alerts.yaml"), "utf8");
  return (parse(text) as Rules).groups.flatMap(({ rules }) => rules);
}

/** Every query of the dashboard and the alerts. */
export function queries(): Query[] {
  const panels = dashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ of: `panel "${title}"`, expr })),
  );
  return [...panels, ...alerts().map(({ alert, expr }) => ({ of: `alert ${alert}`, expr }))];
}
