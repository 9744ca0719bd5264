import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { ROOT } from "./paths.ts";

/** Rooms that take bytes, numbers and a clock value, and return values: nothing of Envoy in them. */
const PURE_ROOMS = [
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

/** Imports that point outwards, as `assembly/body/x.ts imports host/log.ts`, and such that go round in a circle. */
export function importFaults(assembly: string = join(ROOT, "assembly")): string[] {
  const faults = circles(assembly);
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

/** Circles of imports, each once, as `filter/a.ts → filter/b.ts → filter/a.ts`. */
function circles(assembly: string): string[] {
  const found: string[] = [];
  const path: string[] = [];
  const done = new Set<string>();
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      const circle = [...path.slice(at), file].map((name) => relative(assembly, name));
      found.push(`imports in a circle: ${circle.join(" → ")}`);
    }
    if (at >= 0 || done.has(file) || !existsSync(file)) return;
    path.push(file);
    for (const target of importsOf(file)) visit(target);
    path.pop();
    done.add(file);
  };
  for (const name of readdirSync(assembly, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".ts")) visit(join(assembly, name));
  }
  return found;
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
