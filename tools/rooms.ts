import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { ROOT } from "./paths.ts";

/** Rooms that take bytes, numbers and a clock value, and return values: nothing of Envoy in them. */
export const PURE_ROOMS = [
  "json",
  "config",
  "body",
  "prefix",
  "metrics",
  "discovery",
  "cost",
  "policy",
  "peers",
  "admission",
];

/** What `state/` may see of the border: shared data, and where its answers lie. */
const STATE_MAY_IMPORT = ["host/shareddata.ts", "host/memory.ts"];

/** Imports that point outwards, as `assembly/body/x.ts imports host/log.ts`. */
export function importFaults(): string[] {
  const assembly = join(ROOT, "assembly");
  const faults: string[] = [];
  for (const room of [...PURE_ROOMS, "state"]) {
    const folder = join(assembly, room);
    if (!existsSync(folder)) continue;
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".ts")) continue;
      const file = join(folder, name);
      for (const target of importsOf(file)) {
        const path = relative(assembly, target);
        const isHost = path.startsWith("host/") || target.includes("proxy-wasm-sdk-as");
        const outward = isHost || path.startsWith("filter/") || path.startsWith("stats/");
        if (!outward || (room === "state" && STATE_MAY_IMPORT.includes(path))) continue;
        faults.push(`${relative(ROOT, file)} imports ${path}`);
      }
    }
  }
  return faults;
}

/** Files that a source file names in its imports and re-exports. */
function importsOf(file: string): string[] {
  const source = readFileSync(file, "utf8");
  const found = source.matchAll(/^\s*(?:import|export)\b[^;"']*?from\s+["']([^"']+)["']/gm);
  return [...found].map(([, path]) => {
    const name = path ?? "";
    if (!name.startsWith(".")) return name;
    return `${join(dirname(file), name).replace(/\.ts$/, "")}.ts`;
  });
}
