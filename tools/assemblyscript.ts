import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./paths.ts";

/*
 * Biome reads TypeScript, where decorators stand on classes and their members alone. In
 * AssemblyScript they stand on functions and variables too, so copies in which each decorator line
 * is a comment are what Biome formats and checks:
 *
 *   @inline                          //:as @inline
 *   export function f(): i32 {  <->  export function f(): i32 {
 */

/** Where the copies are, inside the project so that Biome finds them. */
const COPIES = join(ROOT, "build", "lint");

/** Biome's configuration for the copies. */
export const COPY_CONFIG = join(ROOT, "tools", "assemblyscript.biome.json");

const DECORATOR =
  "@(?:inline|lazy|unmanaged|final|global|unsafe|builtin|external(?:\\.js)?|operator(?:\\.\\w+)?)";
const DECORATOR_LINE = new RegExp(
  `^([ \\t]*)(${DECORATOR}(?:\\([^()\\n]*\\))?)[ \\t]*(?=\\S|$)`,
  "gm",
);

/** AssemblyScript folders of the project, and the files in them, relative to the project. */
export interface Copies {
  folders: string[];
  files: string[];
}

/** Puts each decorator on a line of its own, as a comment. Repeats for several in one line. */
export function hideDecorators(source: string): string {
  let hidden = source;
  let before = "";
  while (before !== hidden) {
    before = hidden;
    hidden = hidden.replace(
      DECORATOR_LINE,
      (_all, indent: string, decorator: string, at: number) => {
        const rest = before.slice(at + _all.length);
        return `${indent}//:as ${decorator}${/^(?:\r?\n|$)/.test(rest) ? "" : `\n${indent}`}`;
      },
    );
  }
  return hidden;
}

/** Undoes `hideDecorators`. */
export function showDecorators(source: string): string {
  return source.replace(/\/\/:as (@.*)$/gm, "$1");
}

/** Writes the copies; returns what was copied. */
export function copyForBiome(): Copies {
  rmSync(COPIES, { recursive: true, force: true });
  const roots = ["assembly", join("tests", "unit")].filter((name) => existsSync(join(ROOT, name)));
  const files = roots.flatMap((root) =>
    readdirSync(join(ROOT, root), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
      .map((name) => join(root, name)),
  );
  for (const file of files) {
    const copy = join(COPIES, file);
    mkdirSync(dirname(copy), { recursive: true });
    writeFileSync(copy, hideDecorators(readFileSync(join(ROOT, file), "utf8")));
  }
  return { folders: roots.map((root) => join(COPIES, root)).filter(existsSync), files };
}

/** Brings formatted copies back into the sources; returns how many files changed. */
export function copyBack({ files }: Copies): number {
  let changed = 0;
  for (const file of files) {
    const formatted = showDecorators(readFileSync(join(COPIES, file), "utf8"));
    const path = join(ROOT, file);
    if (readFileSync(path, "utf8") === formatted) continue;
    writeFileSync(path, formatted);
    changed++;
  }
  return changed;
}
