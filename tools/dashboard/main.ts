/** `node --import tsx tools/dashboard/main.ts`: writes monitoring/grafana/warmroute.json. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../paths.ts";
import { buildDashboard } from "./layout.ts";

const file = join(ROOT, "monitoring", "grafana", "warmroute.json");
writeFileSync(file, `${JSON.stringify(buildDashboard(), null, 2)}\n`);
console.log(file);
