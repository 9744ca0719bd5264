import { type Snapshot, snapshot } from "./admin.ts";
import { checkEnvoy, checkFilter } from "./envoy.ts";
import type { Finding } from "./finding.ts";
import { checkLive } from "./live.ts";
import { checkBare, checkRoutes } from "./routes.ts";
import { readSetup } from "./setup.ts";

/** Checks a running Envoy, watching it for `watchMs`. */
export async function examine(admin: string, watchMs: number): Promise<Finding[]> {
  return findings(await snapshot(admin, watchMs));
}

function findings(now: Snapshot): Finding[] {
  const setup = readSetup(now.dump);
  const { filters } = setup;
  const found = checkEnvoy(now, setup);
  if (filters.length === 0) return found;
  for (const filter of filters) {
    const own = [...checkFilter(filter), ...checkRoutes(filter, setup, now)];
    const where = filters.length > 1 ? `${filter.listener}: ` : "";
    found.push(...own.map((finding) => ({ ...finding, says: where + finding.says })));
  }
  return [...found, ...checkBare(setup), ...checkLive(filters, now)];
}
