/** Writes the configuration table of README.md from the JSON Schema; `--check` only compares. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./paths.ts";

const README = join(ROOT, "README.md");
const BEGIN = "<!-- configuration: written by tools/readme.ts from envoy/filter.schema.json -->\n";
const END = "<!-- /configuration -->";

interface Field {
  description?: string;
  default?: unknown;
  properties?: Record<string, Field>;
}

/** README.md as it should be. */
export function readme(): string {
  const text = readFileSync(README, "utf8");
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error("README.md has no configuration table");
  const schema = readFileSync(join(ROOT, "envoy", "filter.schema.json"), "utf8");
  const rows = fieldsOf(JSON.parse(schema) as Field, "").map(
    ([path, field]) => `| \`${path}\` | ${value(field.default)} | ${cell(field.description)} |`,
  );
  const table = ["| field | default | meaning |", "|---|---|---|", ...rows].join("\n");
  return `${text.slice(0, begin + BEGIN.length)}\n${table}\n\n${text.slice(end)}`;
}

/** Fields with their paths; of an object its fields, and of `metrics.names` one row for all. */
function fieldsOf({ properties = {} }: Field, prefix: string): [path: string, field: Field][] {
  return Object.entries(properties).flatMap(([name, field]): [string, Field][] => {
    const path = `${prefix}${name}`;
    if (field.properties === undefined || path === "metrics.names") {
      if (path !== "metrics.names") return [[path, field]];
      const signals = Object.keys(field.properties ?? {}).map((signal) => `\`${signal}\``);
      return [
        [path, { ...field, description: `${field.description} Signals: ${signals.join(", ")}.` }],
      ];
    }
    return fieldsOf(field, `${path}.`);
  });
}

/** Lists of more than this many entries are shown as such. */
const LONG_LIST = 3;

function value(of: unknown): string {
  if (of === undefined) return "";
  if (Array.isArray(of) && of.length > LONG_LIST) {
    return of.map((entry) => `\`${entry}\``).join(", ");
  }
  return `\`${JSON.stringify(of)}\``;
}

function cell(text = ""): string {
  return text.replaceAll("|", "\\|").replaceAll("*", "\\*").replaceAll("<", "&lt;");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const wanted = readme();
  if (process.argv.includes("--check"))
    process.exit(wanted === readFileSync(README, "utf8") ? 0 : 1);
  writeFileSync(README, wanted);
}
