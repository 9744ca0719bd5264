import assert from "node:assert/strict";
import test from "node:test";
import { buildIfStale } from "../../tools/compile.ts";
import { findPrometheus, MISSING } from "../../tools/dashboard/prometheus.ts";
import { watchDashboard } from "../../tools/dashboard/watch.ts";

const program = findPrometheus("prometheus");

/** A little traffic: nothing is held, so nothing waits. */
const SECONDS = 8;
const RATE = 10;
const WITHOUT_DATA = ["Time held"];

test("a real Prometheus answers every query of the dashboard over traffic", {
  skip: program === undefined && MISSING,
}, async () => {
  assert.ok(buildIfStale().ok);
  const panels = await watchDashboard(program ?? "", SECONDS, RATE);
  const silent: string[] = [];
  for (const { title, type, queries } of panels) {
    if (type === "row" || WITHOUT_DATA.includes(title)) continue;
    for (const { expr, answers } of queries) {
      const values = answers.flatMap(({ points }) => points.map(([, value]) => value));
      if (!values.some(Number.isFinite)) silent.push(`${title}: ${expr}`);
    }
  }
  assert.deepEqual(silent, []);
  const [requests] = panels.find(({ title }) => title === "Requests")?.queries ?? [];
  assert.ok(requests?.answers[0]?.points.some(([, perSecond]) => perSecond > 1));
});
