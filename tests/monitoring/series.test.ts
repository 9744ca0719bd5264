import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Stats } from "../../tools/envoy/stats.ts";
import { ROOT } from "../../tools/paths.ts";
import { post } from "../e2e/client.ts";
import { gateway } from "../e2e/harness.ts";
import { startServers } from "../llm/fleet.ts";
import { referencesOf, withoutVariables } from "./promql.ts";
import { dashboard, queries } from "./shipped.ts";

/** Labels that Prometheus adds, and the one that histograms have. */
const ADDED = ["instance", "job"];

const fleet = await startServers(2, { timeScale: 10 });
after(() => fleet.stop());
const envoy = await gateway(fleet.addresses, {
  discovery: { source: "envoy_admin" },
  metrics: { source: "hosts" },
});

test("every series, label and value that dashboard and alerts ask for is in Envoy's statistics", async () => {
  for (const stream of [true, false]) {
    const messages = [{ role: "user", content: "Which berth is free?" }];
    const { status } = await post(envoy.port, { model: "test-model", stream, messages });
    assert.equal(status, 200);
  }
  const wanted = queries().flatMap(({ of, expr }) =>
    referencesOf(withoutVariables(expr)).map((reference) => ({ of, ...reference })),
  );
  for (const { name, query } of dashboard().templating.list) {
    const asked = /^label_values\((\w+), (\w+)\)$/.exec(query);
    if (asked === null) continue;
    const [, series = "", label = ""] = asked;
    wanted.push({ of: `variable ${name}`, name: series, matchers: [], kept: [label] });
  }
  // Gauges per host and histograms show after the filter's next tick and Envoy's next flush.
  const deadline = Date.now() + 60_000;
  let missing: string[];
  do {
    await sleep(300);
    missing = missingOf(wanted, await envoy.stats());
  } while (missing.length > 0 && Date.now() < deadline);
  assert.deepEqual(missing, []);
});

type Wanted = ReturnType<typeof referencesOf>[number] & { of: string };

/** What README's table of statistics names: each with its labels. */
function documented(): Map<string, string[]> {
  const text = readFileSync(join(ROOT, "README.md"), "utf8");
  const names = [
    ...text.matchAll(/`(warmroute_\w+)(?:\{(\w+)\})?`(?=[^|\n]*\| (?:counter|gauge|histogram))/g),
  ];
  return new Map(names.map(([, name = "", label]) => [name, label === undefined ? [] : [label]]));
}

test("README's table of statistics names each that Envoy shows, with its labels, and no other", async () => {
  const shown = new Map<string, string[]>();
  for (const { name, labels } of (await envoy.stats()).samples) {
    if (!name.startsWith("warmroute_")) continue;
    const { le: _bucket, ...own } = labels;
    shown.set(name.replace(/_(bucket|sum|count)$/, ""), Object.keys(own));
  }
  const byName = (statistics: Map<string, string[]>) =>
    [...statistics].sort(([a], [b]) => (a < b ? -1 : 1));
  assert.deepEqual(byName(documented()), byName(shown));
});

function missingOf(wanted: Wanted[], stats: Stats) {
  return wanted.flatMap(({ of, name, matchers, kept }) => {
    const samples = stats.find(name);
    if (samples.length === 0) return [`${of}: no series ${name}`];
    const labels = [...matchers.map(({ label }) => label), ...kept];
    const values = matchers.filter(({ equals }) => equals !== undefined);
    return [
      ...labels
        .filter((label) => !ADDED.includes(label) && !(label in (samples[0]?.labels ?? {})))
        .map((label) => `${of}: ${name} has no label ${label}`),
      ...values
        .filter(({ label, equals }) => !samples.some((sample) => sample.labels[label] === equals))
        .map(({ label, equals }) => `${of}: ${name} is never ${label}="${equals}"`),
    ];
  });
}
