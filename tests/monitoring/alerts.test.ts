import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { parse, stringify } from "yaml";
import { findPrometheus, MISSING } from "../../tools/dashboard/prometheus.ts";
import { MONITORING } from "./shipped.ts";

const promtool = findPrometheus("promtool");
const skip = promtool === undefined && MISSING;

function run(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(promtool ?? "", args, { encoding: "utf8" });
  assert.equal(status, 0, `${stdout}${stderr}`);
}

test("Prometheus takes the alerts", { skip }, () => {
  run("check", "rules", join(MONITORING, "prometheus", "alerts.yaml"));
});

test("alerts fire when they should, and only then", { skip }, () => {
  run("test", "rules", join(MONITORING, "prometheus", "alerts.test.yaml"));
});

test("Prometheus takes the scrape configurations", { skip }, () => {
  run("check", "config", join(MONITORING, "prometheus", "scrape.yaml"));
  // Debian's Prometheus has no Kubernetes discovery: all else of the file is checked.
  const text = readFileSync(join(MONITORING, "prometheus", "scrape-kubernetes.yaml"), "utf8");
  const { scrape_configs } = parse(text) as { scrape_configs: Record<string, unknown>[] };
  const plain = scrape_configs.map(({ kubernetes_sd_configs, ...job }) => {
    assert.deepEqual(kubernetes_sd_configs, [{ role: "pod" }]);
    return { ...job, static_configs: [{ targets: ["127.0.0.1:1"] }] };
  });
  const folder = mkdtempSync(join(tmpdir(), "warmroute-scrape-"));
  after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "scrape.yaml");
  writeFileSync(file, stringify({ scrape_configs: plain }));
  run("check", "config", file);
});
