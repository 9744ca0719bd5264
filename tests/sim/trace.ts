import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { generate } from "./generators/index.ts";
import { readAgentic } from "./traces/agentic.ts";
import { readLmcache } from "./traces/lmcache.ts";
import { readMooncake } from "./traces/mooncake.ts";
import { readPlain } from "./traces/plain.ts";
import { readServegen } from "./traces/servegen.ts";
import type { Workload } from "./workload.ts";

/** Where traces are looked for by name: beside the project, never part of it. */
const TRACE_FOLDER = resolve(dirname(fileURLToPath(import.meta.url)), "../../../shared/traces");

/**
 * Loads what `--trace` names: `generated:NAME`, a file, or the start of the name of a file in the
 * folder of traces.
 * @throws Error with the reason, if there is no such thing.
 */
export function loadWorkload(trace: string, options: { seed: number; requests: number }): Workload {
  if (trace.startsWith("generated:")) return generate(trace.slice("generated:".length), options);
  const file = findTrace(trace);
  if (file === undefined) throw new Error(`--trace ${trace}: no such file`);
  const rows = readRows(file);
  const name = basename(file).replace(/\.jsonl(\.gz)?$/, "");
  const first = rows[0];
  if (first === undefined) throw new Error(`--trace ${trace}: the file is empty`);
  // Which format it is can be told from the fields of the first line.
  if ("hash_ids" in first) return readMooncake(name, rows as Parameters<typeof readMooncake>[1]);
  if ("input_length" in first) return readPlain(name, rows as Parameters<typeof readPlain>[1]);
  if ("rate_per_s_10min" in first) {
    return readServegen(name, rows as Parameters<typeof readServegen>[1], options.seed);
  }
  if ("tools" in first) {
    return readAgentic(name, rows as Parameters<typeof readAgentic>[1], options);
  }
  if ("requests" in first) {
    return readLmcache(name, rows as Parameters<typeof readLmcache>[1], options.seed);
  }
  throw new Error(`--trace ${trace}: unknown format`);
}

/** The path of a trace, undefined if it isn't there. */
export function findTrace(trace: string): string | undefined {
  if (existsSync(trace)) return trace;
  if (!existsSync(TRACE_FOLDER)) return undefined;
  const found = readdirSync(TRACE_FOLDER).find((name) => name.startsWith(trace));
  return found === undefined ? undefined : join(TRACE_FOLDER, found);
}

/** The rows of a JSON-lines file, gzipped or not. */
export function readRows(file: string): object[] {
  return readText(file)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, i) => row(line, `${file}: row ${i + 1}`));
}

function row(line: string, where: string): object {
  try {
    return JSON.parse(line) as object;
  } catch (error) {
    throw new Error(`${where}: expected JSON, one object a line: ${(error as Error).message}`);
  }
}

/** A file's text, gunzipped if it is. */
export function readText(file: string): string {
  const bytes = readFileSync(file);
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
}
