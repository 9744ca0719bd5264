import assert from "node:assert/strict";
import { join } from "node:path";
import { after } from "node:test";
import { parse } from "yaml";
import { findPrometheus, Prometheus } from "../../../tools/dashboard/prometheus.ts";
import { ROOT } from "../../../tools/paths.ts";
import { until } from "../../e2e/until.ts";
import { read } from "./files.ts";

/**
 * Prometheus on a configuration of the example, once it has data of all targets.
 * @param addresses what the targets are outside containers
 */
export async function watching(
  configuration: string,
  addresses: Record<string, string>,
): Promise<Prometheus> {
  const file = parse(read(configuration));
  let count = 0;
  for (const { static_configs } of file.scrape_configs) {
    const [group] = static_configs;
    group.targets = group.targets.map((target: string) => {
      assert.ok(addresses[target], `${target} is no service`);
      count++;
      return addresses[target];
    });
  }
  assert.equal(count, Object.keys(addresses).length);
  file.global.scrape_interval = "1s";
  file.rule_files = [join(ROOT, "monitoring", "prometheus", "alerts.yaml")];
  const prometheus = await Prometheus.start(findPrometheus("prometheus") ?? "", file);
  after(() => prometheus.stop());
  await until("Prometheus to see all", async () => {
    const [up] = await prometheus.now("sum(up)");
    return up?.value === count;
  });
  return prometheus;
}
