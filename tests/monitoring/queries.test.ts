import assert from "node:assert/strict";
import test from "node:test";
import { buildIfStale } from "../../tools/compile.ts";
import { findPrometheus, MISSING } from "../../tools/dashboard/prometheus.ts";
import { type Watched, watchDashboard } from "../../tools/dashboard/watch.ts";

const program = findPrometheus("prometheus");

/** A little traffic: nothing is held, so nothing waits. For longer where a busy machine was too slow for it. */
const SECONDS = [8, 24, 60];
const RATE = 10;
const WITHOUT_DATA = ["Time held"];

test("a real Prometheus answers every query of the dashboard over traffic", {
  skip: program === undefined && MISSING,
}, async () => {
  assert.ok(buildIfStale().ok);
  let panels: Watched[] = [];
  for (const seconds of SECONDS) {
    panels = await watchDashboard(program ?? "", seconds, RATE);
    if (silentOf(panels).length === 0) break;
  }
  assert.deepEqual(silentOf(panels), []);
  const [requests] = panels.find(({ title }) => title === "Requests")?.queries ?? [];
  assert.ok(requests?.answers[0]?.points.some(([, perSecond]) => perSecond > 1));
});

/** Queries without a single number in their answer. */
function silentOf(panels: Watched[]): string[] {
  return panels
    .filter(({ title, type }) => type !== "row" && !WITHOUT_DATA.includes(title))
    .flatMap(({ title, queries }) => queries.map((query) => ({ title, ...query })))
    .filter(
      ({ answers }) =>
        !answers.some(({ points }) => points.some(([, value]) => Number.isFinite(value))),
    )
    .map(({ title, expr }) => `${title}: ${expr}`);
}
