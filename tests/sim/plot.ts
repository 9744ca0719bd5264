import { escapeHtml } from "./text.ts";

/** One line of a chart. */
export interface Line {
  /** Shown where the pointer is on it; the legend is the page's. */
  name: string;
  look: Look;
  points: readonly [number, number][];
}

/** How a series is told from others. */
export interface Look {
  /** A CSS colour of `PLOT_STYLE`. */
  color: string;
  isDashed: boolean;
}

export interface Axis {
  /** What it shows, with its unit. */
  label: string;
  log?: boolean;
  from?: number;
  to?: number;
  /** Where the labels stand; round numbers by default. */
  ticks?: readonly number[];
  /** Text of a value. */
  show(value: number): string;
}

/** A rectangle of shades: rows of equal length, from left to right. */
export interface Shades {
  /** What they show, with its unit. */
  label: string;
  /** NaN leaves a cell out. */
  rows: readonly (readonly number[])[];
  /** The value of the darkest shade. */
  top: number;
  /** What a row is called. */
  rowName(row: number): string;
}

/** Units of the drawing; a page scales it to its width, see `PLOT_STYLE`. */
const WIDTH = 760;
const HEIGHT = 390;
const LEFT = 86;
const RIGHT = 24;
const TOP = 44;
const BOTTOM = 60;
const TICKS = 6;
const ROWS_TOP = 14;
const ROWS_HEIGHT = 132;

const SHADES = 12;

/** Okabe and Ito's colours, which people with any colour vision tell apart, without the yellow that white swallows. */
const LIGHT = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4a5561"];
/** The same on a dark page. */
const DARK = ["#f07d2b", "#3d8fd1", "#20b58a", "#d990b8", "#e9b53a", "#93d2f5", "#c3ccd6"];

/** The look of series `i`. The first has its colour alone; of the others, more than there are colours are dashed. */
export function lookOf(i: number): Look {
  const others = LIGHT.length - 1;
  const color = i === 0 ? 0 : 1 + ((i - 1) % others);
  return { color: `var(--series-${color})`, isDashed: i > others };
}

/** From nothing to most: on a light page a light yellow to a dark red, on a dark one a dark red to a light yellow. */
function shades(isDark: boolean): string[] {
  return Array.from({ length: SHADES }, (_unused, i) => {
    const share = (i + 1) / SHADES;
    const hue = isDark ? 48 * share : 48 - 48 * share;
    const lightness = isDark ? 20 + 55 * share : 90 - 60 * share;
    return `hsl(${hue.toFixed(0)} 85% ${lightness.toFixed(0)}%)`;
  });
}

function variables(name: string, values: readonly string[]): string {
  return values.map((value, i) => `--${name}-${i}: ${value};`).join(" ");
}

/** Colours of charts, for `:root`, light and dark. Text is drawn larger where the drawing is scaled down: on a phone. */
export const PLOT_STYLE = `
:root { --rule: #e3e8ee; --quiet: #55606d;
  ${variables("series", LIGHT)}
  ${variables("shade", shades(false))} }
@media (prefers-color-scheme: dark) { :root { --rule: #2b333c; --quiet: #a3afbb;
  ${variables("series", DARK)}
  ${variables("shade", shades(true))} } }
svg { width: 100%; height: auto; display: block; }
svg text { font: 13px system-ui, sans-serif; fill: var(--quiet); }
@media (max-width: 640px) { svg text { font-size: 24px; } }
`;

/** All shades from none to the most, for a legend. */
export const SHADES_GRADIENT = `linear-gradient(to right, transparent, ${Array.from(
  { length: SHADES },
  (_unused, i) => `var(--shade-${i})`,
).join(", ")})`;

/** A line chart as inline SVG, the first line on top; its legend is the page's. */
export function lineChart(lines: readonly Line[], x: Axis, y: Axis): string {
  const bottom = HEIGHT - BOTTOM;
  const xs = rangeOf(x, lines, 0);
  const ys = rangeOf(y, lines, 1);
  const across = scale(xs, x.log ?? false, LEFT, WIDTH - RIGHT);
  const up = scale(ys, y.log ?? false, bottom, TOP);
  const parts = xTicks(xs, x, across, TOP, bottom);
  for (const value of y.ticks ?? ticksOf(ys, false)) {
    const at = up(value);
    parts.push(rule(`M${LEFT} ${at.toFixed(1)}H${WIDTH - RIGHT}`));
    parts.push(label(LEFT - 8, at + 5, "end", y.show(value)));
  }
  parts.push(label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", x.label));
  parts.push(label(4, TOP - 22, "start", y.label));
  for (const { name, look, points } of lines.toReversed()) {
    const path = points.map(([px, py]) => `${across(px).toFixed(1)} ${up(py).toFixed(1)}`);
    if (path.length === 0) continue;
    const dashes = look.isDashed ? ' stroke-dasharray="7 4"' : "";
    parts.push(
      `<path d="M${path.join("L")}" fill="none" stroke="${look.color}" stroke-width="2.5"${dashes}>` +
        `<title>${escapeHtml(name)}</title></path>`,
    );
  }
  return svg(HEIGHT, `${y.label} by ${x.label}`, parts);
}

/** Rows of shades over an axis from `from` to `to`, as inline SVG. */
export function shadeChart(chart: Shades, x: Axis & { from: number; to: number }): string {
  const { rows, top } = chart;
  const height = ROWS_HEIGHT / Math.max(1, rows.length);
  const bottom = ROWS_TOP + ROWS_HEIGHT;
  const across = scale([x.from, x.to], false, LEFT, WIDTH - RIGHT);
  const parts: string[] = [];
  rows.forEach((row, i) => {
    const at = ROWS_TOP + i * height;
    // The first and the last are enough to read the rest, at any number of rows.
    if (i === 0 || i === rows.length - 1) {
      parts.push(label(LEFT - 8, at + height / 2 + 5, "end", chart.rowName(i)));
    }
    const cell = (WIDTH - RIGHT - LEFT) / row.length;
    for (let from = 0; from < row.length; ) {
      const shade = shadeOf(row[from] as number, top);
      let to = from + 1;
      while (to < row.length && shadeOf(row[to] as number, top) === shade) to++;
      if (shade > 0) {
        parts.push(
          `<rect x="${(LEFT + from * cell).toFixed(1)}" y="${at.toFixed(1)}" ` +
            `width="${((to - from) * cell + 0.2).toFixed(1)}" height="${(height - 1).toFixed(1)}" ` +
            `fill="var(--shade-${shade - 1})"/>`,
        );
      }
      from = to;
    }
  });
  parts.push(...xTicks([x.from, x.to], x, across, bottom, bottom + 4));
  parts.push(label((LEFT + WIDTH - RIGHT) / 2, bottom + BOTTOM - 6, "middle", x.label));
  return svg(bottom + BOTTOM, `${chart.label} by ${x.label}`, parts);
}

function shadeOf(value: number, top: number): number {
  if (!(value > 0) || !(top > 0)) return 0;
  return Math.max(1, Math.round(Math.min(1, value / top) * SHADES));
}

function xTicks(
  range: [number, number],
  x: Axis,
  across: (value: number) => number,
  top: number,
  bottom: number,
): string[] {
  return (x.ticks ?? ticksOf(range, x.log ?? false)).flatMap((value) => {
    const at = across(value).toFixed(1);
    return [rule(`M${at} ${top}V${bottom}`), label(at, bottom + 23, "middle", x.show(value))];
  });
}

function svg(height: number, title: string, parts: readonly string[]): string {
  const label = escapeHtml(title);
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${label}">${parts.join("")}</svg>`;
}

function rule(path: string): string {
  return `<path d="${path}" stroke="var(--rule)" stroke-width="1"/>`;
}

function label(x: number | string, y: number, anchor: string, text: string): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escapeHtml(text)}</text>`;
}

function rangeOf(axis: Axis, lines: readonly Line[], at: 0 | 1): [number, number] {
  let from = axis.from ?? Number.POSITIVE_INFINITY;
  let to = axis.to ?? Number.NEGATIVE_INFINITY;
  for (const line of lines) {
    for (const point of line.points) {
      if (axis.from === undefined) from = Math.min(from, point[at]);
      if (axis.to === undefined) to = Math.max(to, point[at]);
    }
  }
  return from < to ? [from, to] : [0, 1];
}

function scale(
  [from, to]: [number, number],
  log: boolean,
  start: number,
  end: number,
): (value: number) => number {
  const map = log ? (value: number): number => Math.log(Math.max(value, 1e-6)) : Number;
  return (value) => start + ((map(value) - map(from)) / (map(to) - map(from))) * (end - start);
}

/** Round numbers within a range: powers of ten on a logarithmic axis. */
function ticksOf([from, to]: [number, number], log: boolean): number[] {
  const found: number[] = [];
  if (log) {
    for (let power = 10 ** Math.ceil(Math.log10(Math.max(from, 1e-6))); power <= to; power *= 10) {
      found.push(power);
    }
    return found;
  }
  const rough = (to - from) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  for (let value = Math.ceil(from / step) * step; value <= to + step / 1e6; value += step) {
    found.push(value);
  }
  return found;
}
