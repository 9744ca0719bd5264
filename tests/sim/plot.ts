/** One line of a chart. */
export interface Line {
  /** Empty keeps it out of the legend. */
  name: string;
  color: string;
  points: readonly [number, number][];
}

export interface Axis {
  label: string;
  log: boolean;
  from?: number;
  to?: number;
}

export interface Bar {
  name: string;
  color: string;
  /** 0..1 */
  value: number;
}

const WIDTH = 1000;
const HEIGHT = 360;
const LEFT = 64;
const RIGHT = 150;
const TOP = 14;
const BOTTOM = 44;
const TICKS = 6;

/** A line chart as inline SVG. */
export function lineChart(lines: readonly Line[], x: Axis, y: Axis): string {
  const right = lines.some((line) => line.name !== "") ? RIGHT : 20;
  const across = scale(x, lines, 0, LEFT, WIDTH - right);
  const up = scale(y, lines, 1, HEIGHT - BOTTOM, TOP);
  const parts: string[] = [];
  for (const value of ticks(x, lines, 0)) {
    const at = across(value).toFixed(1);
    parts.push(rule(`M${at} ${TOP}V${HEIGHT - BOTTOM}`));
    parts.push(label(at, HEIGHT - BOTTOM + 16, "middle", short(value)));
  }
  for (const value of ticks(y, lines, 1)) {
    const at = up(value).toFixed(1);
    parts.push(rule(`M${LEFT} ${at}H${WIDTH - right}`));
    parts.push(label(LEFT - 6, Number(at) + 4, "end", short(value)));
  }
  parts.push(label((LEFT + WIDTH - right) / 2, HEIGHT - 8, "middle", x.label));
  parts.push(label(LEFT + 6, TOP + 12, "start", y.label));
  lines.forEach((line, i) => {
    const path = line.points.map(([px, py]) => `${across(px).toFixed(1)} ${up(py).toFixed(1)}`);
    if (path.length > 0) {
      parts.push(
        `<path d="M${path.join("L")}" fill="none" stroke="${line.color}" stroke-width="2"/>`,
      );
    }
    if (line.name === "") return;
    const at = TOP + 14 + i * 18;
    parts.push(
      `<path d="M${WIDTH - RIGHT + 12} ${at}h18" stroke="${line.color}" stroke-width="3"/>`,
    );
    parts.push(label(WIDTH - RIGHT + 36, at + 4, "start", line.name));
  });
  return svg(HEIGHT, parts);
}

/** Horizontal bars of shares. */
export function barChart(bars: readonly Bar[]): string {
  const height = 22;
  const parts = bars.map((bar, i) => {
    const at = TOP + i * height;
    const length = Math.max(1, bar.value * (WIDTH - 260)).toFixed(1);
    return (
      label(140, at + 14, "end", bar.name) +
      `<rect x="150" y="${at + 3}" width="${length}" height="${height - 8}" fill="${bar.color}"/>` +
      label(156 + Number(length), at + 14, "start", `${(100 * bar.value).toFixed(1)} %`)
    );
  });
  return svg(TOP * 2 + bars.length * height, parts);
}

function svg(height: number, parts: readonly string[]): string {
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img">${parts.join("")}</svg>`;
}

function rule(path: string): string {
  return `<path d="${path}" stroke="#e3e8ee" stroke-width="1"/>`;
}

function label(x: number | string, y: number, anchor: string, text: string): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#55606d">${text}</text>`;
}

function range(axis: Axis, lines: readonly Line[], at: 0 | 1): [number, number] {
  let from = axis.from ?? Number.POSITIVE_INFINITY;
  let to = axis.to ?? Number.NEGATIVE_INFINITY;
  for (const line of lines) {
    for (const point of line.points) {
      if (axis.from === undefined) from = Math.min(from, point[at]);
      if (axis.to === undefined) to = Math.max(to, point[at]);
    }
  }
  if (!(from < to)) return [0, 1];
  return [from, to];
}

function scale(
  axis: Axis,
  lines: readonly Line[],
  at: 0 | 1,
  start: number,
  end: number,
): (value: number) => number {
  const [from, to] = range(axis, lines, at);
  const map = axis.log ? Math.log : (value: number): number => value;
  const low = map(axis.log ? Math.max(from, 1e-6) : from);
  const high = map(to);
  return (value) => start + ((map(value) - low) / (high - low)) * (end - start);
}

function ticks(axis: Axis, lines: readonly Line[], at: 0 | 1): number[] {
  const [from, to] = range(axis, lines, at);
  const found: number[] = [];
  if (axis.log) {
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

function short(value: number): string {
  if (Math.abs(value) >= 1000) return `${Number((value / 1000).toPrecision(3))}k`;
  return `${Number(value.toPrecision(3))}`;
}
