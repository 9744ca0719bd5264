import { quantile } from "../../tools/start/figures.ts";
import type { Run } from "./compare.ts";

const LABEL_COLUMNS = 34;
const COLUMNS = 20;

/** Times to the first token of some turns, in milliseconds, shortest first. */
function ttftsMs({ outcomes }: Run, turns: number[]): number[] {
  const those = outcomes.filter(({ ok, turn }) => ok && turns.includes(turn));
  return those.map(({ ttftMs }) => ttftMs).sort((a, b) => a - b);
}

/** Tokens of the turns' prompts, and how many of them the servers had in their KV cache. */
export function promptTokens({ outcomes }: Run, turns: number[]): { all: number; cached: number } {
  const those = outcomes.filter(({ turn }) => turns.includes(turn));
  return {
    all: those.reduce((sum, outcome) => sum + outcome.promptTokens, 0),
    cached: those.reduce((sum, outcome) => sum + outcome.cachedTokens, 0),
  };
}

/** The turns that a cache can help. */
export const LATER_TURNS = [2, 3, 4, 5];

/** The runs side by side, for people. */
export function report(runs: Run[]): string[] {
  const row = (label: string, cell: (run: Run) => string) =>
    `  ${label.padEnd(LABEL_COLUMNS)}${runs.map((run) => cell(run).padStart(COLUMNS)).join("")}`;
  const ms = (value: number) => `${Math.round(value).toLocaleString("en")} ms`;
  return [
    "",
    row("", ({ name }) => name),
    `  ${"─".repeat(LABEL_COLUMNS + COLUMNS * runs.length)}`,
    ...[1, ...LATER_TURNS].map((turn) =>
      row(`TTFT of turn ${turn}, mean`, (run) => ms(mean(ttftsMs(run, [turn])))),
    ),
    row("TTFT of turns 2–5, mean", (run) => ms(mean(ttftsMs(run, LATER_TURNS)))),
    row("  half of them within", (run) => ms(quantile(ttftsMs(run, LATER_TURNS), 0.5))),
    row("  90 % within", (run) => ms(quantile(ttftsMs(run, LATER_TURNS), 0.9))),
    row("prompt tokens of turns 2–5", (run) => String(promptTokens(run, LATER_TURNS).all)),
    row("  of these in the KV cache", (run) => {
      const { all, cached } = promptTokens(run, LATER_TURNS);
      return `${Math.round((100 * cached) / all)} %`;
    }),
    row("all answered after", ({ totalMs }) => `${(totalMs / 1000).toFixed(1)} s`),
    row("requests failed", ({ outcomes }) => String(outcomes.filter(({ ok }) => !ok).length)),
    "",
  ];
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
