/**
 * `node --import tsx tools/dashboard/preview.ts FILE.html [SECONDS] [RATE]`: the dashboard over real
 * traffic, drawn without Grafana: the same panels, places, queries and data.
 */
import { writeFileSync } from "node:fs";
import { lineChart, lookOf, PLOT_STYLE } from "../../tests/sim/plot.ts";
import { findPrometheus, MISSING } from "./prometheus.ts";
import { type Watched, watchDashboard } from "./watch.ts";

const ROW_PX = 40;

const [file, seconds = "30", rate = "20"] = process.argv.slice(2);
const program = findPrometheus("prometheus");
if (file === undefined || program === undefined) {
  console.error(file === undefined ? "expected a file's name" : MISSING);
  process.exit(2);
}
writeFileSync(file, page(await watchDashboard(program, Number(seconds), Number(rate))));
console.log(file);

function page(panels: Watched[]): string {
  const cells = panels.map((panel) => {
    const { x, y, w, h } = panel.grid;
    const place = `grid-area:${y + 1}/${x + 1}/span ${h}/span ${w}`;
    const inside = panel.type === "row" ? "" : panel.type === "stat" ? figure(panel) : graph(panel);
    return `<section class="${panel.type}" style="${place}"><h2>${panel.title}</h2>${inside}</section>`;
  });
  return `<!doctype html><meta charset="utf-8"><title>warmroute</title><style>${PLOT_STYLE}
:root { color-scheme: light dark; --ink: #1c2530; --page: #f4f5f5; --ground: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --page: #14181d; --ground: #1c2228; } }
body { font: 14px system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 1rem; }
main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: ${ROW_PX}px; gap: 6px; }
section { background: var(--ground); border: 1px solid var(--rule); padding: 4px 8px; overflow: hidden; }
section.row { background: none; border: 0; } h2 { font-size: 13px; margin: 0; }
svg { height: calc(100% - 42px); } p { margin: 0; font-size: 11px; } b { font-size: 32px; }
i { display: inline-block; width: 10px; height: 3px; margin: 3px; }
</style><main>${cells.join("\n")}</main>`;
}

function show(value: number, unit: string): string {
  if (Number.isNaN(value)) return "–";
  if (unit === "bytes") return `${(value / 2 ** 20).toFixed(0)} MiB`;
  if (unit === "percentunit") return `${(value * 100).toFixed(1)} %`;
  const text = value >= 1000 ? Math.round(value).toLocaleString("en") : `${+value.toPrecision(3)}`;
  return `${text} ${unit.replace("reqps", "req/s").replace("short", "")}`;
}

function figure({ queries, unit }: Watched): string {
  const last = queries[0]?.answers[0]?.points.at(-1)?.[1] ?? Number.NaN;
  return `<b>${show(last, unit)}</b>`;
}

function graph({ queries, unit }: Watched): string {
  const lines = queries.flatMap(({ legend, answers }) =>
    answers.map(({ labels, points }) => ({
      name: legend.replace(/\{\{(\w+)\}\}/g, (_all, label: string) => labels[label] ?? ""),
      points: points.filter(([, value]) => Number.isFinite(value)),
    })),
  );
  const start = Math.min(...lines.flatMap(({ points }) => points.map(([at]) => at)));
  const drawn = lines.map(({ name, points }, i) => ({
    name,
    look: lookOf(i),
    points: points.map(([at, value]): [number, number] => [at - start, value]),
  }));
  const top = Math.max(0, ...drawn.flatMap(({ points }) => points.map(([, value]) => value)));
  const chart = lineChart(
    drawn,
    { label: "seconds", from: 0, show: (value) => `${value}` },
    { label: "", from: 0, to: top > 0 ? top : 1, show: (value) => show(value, unit) },
  );
  const legend = drawn.map(({ name, look }) => `<i style="background:${look.color}"></i>${name} `);
  return `${chart}<p>${legend.join("")}</p>`;
}
