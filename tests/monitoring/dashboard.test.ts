import assert from "node:assert/strict";
import test from "node:test";
import { buildDashboard } from "../../tools/dashboard/layout.ts";
import { referencesOf, withoutVariables } from "./promql.ts";
import { dashboard, queries } from "./shipped.ts";

test("the dashboard is what tools/dashboard makes", () => {
  const made = JSON.parse(JSON.stringify(buildDashboard()));
  assert.deepEqual(dashboard(), made, "run: node --import tsx tools/dashboard/main.ts");
});

test("panels fill the grid without overlap and each has an id of its own", () => {
  const { panels } = dashboard();
  const taken = new Set<string>();
  for (const { title, gridPos } of panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(!taken.has(`${x},${y}`), `"${title}" lies over another panel`);
        taken.add(`${x},${y}`);
      }
    }
  }
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const graphs = panels.filter(({ type }) => type !== "row");
  for (const { title, targets = [] } of graphs) {
    assert.ok(targets.length > 0, `"${title}" asks nothing`);
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
  }
});

test("every query is PromQL and uses only variables that the dashboard has", () => {
  const known = new Set(dashboard().templating.list.map(({ name }) => `$${name}`));
  for (const { of, expr } of queries()) {
    for (const [variable] of expr.matchAll(/\$\w+/g)) {
      assert.ok(variable === "$__rate_interval" || known.has(variable), `${of}: ${variable}`);
    }
    assert.ok(referencesOf(withoutVariables(expr)).length > 0, of);
  }
  assert.throws(() => referencesOf("sum(rate(x[1m])"), /no PromQL/);
});
