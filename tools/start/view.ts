import type { Progress } from "./drive.ts";
import { type Figures, medians } from "./figures.ts";
import {
  bar,
  blue,
  bold,
  dim,
  green,
  orange,
  padEnd,
  padStart,
  red,
  sparkline,
} from "./terminal.ts";

/** A fleet as it is shown. */
export interface Shown {
  name: string;
  figures: Figures;
  progress: Progress;
}

const LABEL_COLUMNS = 24;
/** With the label 80 columns, as narrow as terminals are. */
const FLEET_COLUMNS = 27;
const BAR_COLUMNS = 16;
const SPARK_COLUMNS = 24;
const SPARK_SPAN_MS = 1000;

/** `412 ms`, `3.21 s`, or a dash. */
export function milliseconds(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  return ms < 9999.5 ? `${Math.round(ms).toLocaleString("en")} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** `87 %`, or a dash. */
export function percent(share: number): string {
  return Number.isFinite(share) ? `${Math.round(share * 100)} %` : "–";
}

/** `12.3k` above a thousand. */
function short(count: number): string {
  return count < 1000
    ? String(Math.round(count))
    : `${(count / 1000).toFixed(count < 1e4 ? 1 : 0)}k`;
}

/** The live view: one line of figures after the other, the fleets side by side. */
export function liveView(title: string, fleets: Shown[], nowMs: number, seconds: number): string[] {
  const colours = [orange, blue];
  const row = (label: string, cells: string[]) =>
    `  ${padEnd(label, LABEL_COLUMNS)}${cells.map((cell) => padEnd(cell, FLEET_COLUMNS)).join("")}`.trimEnd();
  const each = (cell: (fleet: Shown, colour: (text: string) => string) => string) =>
    fleets.map((fleet, i) => cell(fleet, colours[i] ?? blue));
  const time = `${(Math.min(nowMs, seconds * 1000) / 1000).toFixed(0)} of ${seconds} s`;
  const spark = fleets.map(({ progress }) =>
    medians(progress.outcomes, SPARK_SPAN_MS, SPARK_COLUMNS, nowMs),
  );
  const top = Math.max(50, ...spark.flat().filter((value) => !Number.isNaN(value)));
  const servers = Math.max(...fleets.map(({ figures }) => figures.requests.length));
  const most = Math.max(1, ...fleets.flatMap(({ figures }) => figures.computedTokens));
  return [
    "",
    `  ${bold(title)}  ${bar(nowMs / (seconds * 1000), 10)} ${dim(time)}`,
    "",
    row(
      "",
      each(({ name }, colour) => colour(bold(name))),
    ),
    row("TTFT, time to first token", []),
    row(
      "  p50, half within",
      each(({ figures }) => bold(milliseconds(figures.p50Ms))),
    ),
    row(
      "  p90",
      each(({ figures }) => bold(milliseconds(figures.p90Ms))),
    ),
    row(
      "  p99",
      each(({ figures }) => bold(milliseconds(figures.p99Ms))),
    ),
    row(
      `  p50, last ${(SPARK_SPAN_MS * SPARK_COLUMNS) / 1000} s`,
      spark.map((values, i) => (colours[i] ?? blue)(sparkline(values, top))),
    ),
    row("", [dim(`each second; a full block is ${milliseconds(top)}`)]),
    row(
      "prompt found in cache",
      each(
        ({ figures }, colour) =>
          `${colour(bar(figures.cachedShare, BAR_COLUMNS))} ${bold(percent(figures.cachedShare))}`,
      ),
    ),
    row(
      "busiest over mean",
      each(({ figures }) => (figures.done > 0 ? figures.busiestOverMean.toFixed(2) : "–")),
    ),
    row(
      "requests",
      each(({ figures }) =>
        figures.failed > 0
          ? `${figures.done} answered, ${red(`${figures.failed} failed`)}`
          : `${figures.done} answered, ${figures.inFlight} open`,
      ),
    ),
    "",
    row("prompt tokens computed", []),
    ...Array.from({ length: servers }, (_unused, i) =>
      row(
        `  server ${i + 1}`,
        each(
          ({ figures }, colour) =>
            `${colour(bar((figures.computedTokens[i] ?? 0) / most, BAR_COLUMNS))} ` +
            dim(short(figures.computedTokens[i] ?? 0)),
        ),
      ),
    ),
    "",
  ];
}

/** The table at the end. */
export function summary(fleets: Shown[]): string[] {
  const [plain, warm] = fleets;
  if (plain === undefined || warm === undefined) return [];
  const lines: [label: string, of: (figures: Figures) => string, gain: string][] = [
    ["TTFT p50", (f) => milliseconds(f.p50Ms), times(plain.figures.p50Ms, warm.figures.p50Ms)],
    ["TTFT p90", (f) => milliseconds(f.p90Ms), times(plain.figures.p90Ms, warm.figures.p90Ms)],
    ["TTFT p99", (f) => milliseconds(f.p99Ms), times(plain.figures.p99Ms, warm.figures.p99Ms)],
    [
      "cached share of prompts",
      (f) => percent(f.cachedShare),
      points(plain.figures.cachedShare, warm.figures.cachedShare),
    ],
    [
      "prompt tokens computed",
      (f) => short(computed(f)),
      fewer(computed(plain.figures), computed(warm.figures)),
    ],
    ["busiest over mean", (f) => f.busiestOverMean.toFixed(2), ""],
    ["requests answered", (f) => String(f.done), ""],
    ["requests failed", (f) => String(f.failed), ""],
  ];
  const head = `  ${padEnd("", 26)}${padStart(plain.name, 20)}${padStart(warm.name, 14)}`;
  return [
    bold(head),
    dim(`  ${"─".repeat(26 + 20 + 14 + 18)}`),
    ...lines.map(([label, of, gain]) => {
      const cells = padStart(of(plain.figures), 20) + padStart(bold(of(warm.figures)), 14);
      const line = `  ${padEnd(label, 26)}${cells}`;
      if (gain === "") return line;
      return `${line}   ${/slower|less|more tokens/.test(gain) ? red(gain) : green(gain)}`;
    }),
  ];
}

/** How many times as fast the second is. */
function times(before: number, after: number): string {
  if (!(before > 0 && after > 0)) return "";
  const ratio = before / after;
  return ratio >= 1 ? `${ratio.toFixed(1)} × faster` : `${(1 / ratio).toFixed(1)} × slower`;
}

/** Tokens that a fleet's servers computed. */
function computed({ computedTokens }: Figures): number {
  return computedTokens.reduce((sum, tokens) => sum + tokens, 0);
}

/** By how many percent points the second is above the first. */
function points(before: number, after: number): string {
  const difference = Math.round(after * 100) - Math.round(before * 100);
  if (Number.isNaN(difference)) return "";
  return `${Math.abs(difference)} points ${difference < 0 ? "less" : "more"}`;
}

/** By how much the second count is below the first. */
function fewer(before: number, after: number): string {
  if (!(before > 0)) return "";
  const share = Math.round((1 - after / before) * 100);
  return share < 0 ? `${-share} % more tokens` : `${share} % fewer`;
}
