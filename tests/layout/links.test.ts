import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import test from "node:test";
import { ROOT } from "../../tools/paths.ts";

/** Folders that are not the project's own. */
const OTHERS = new Set(["node_modules", "build", ".git", ".cache"]);

/** Every Markdown file of the project. */
function documents(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (OTHERS.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? documents(path) : path.endsWith(".md") ? [path] : [];
  });
}

/** Anchors of a document's headings, as GitHub makes them. */
function anchors(text: string): Set<string> {
  return new Set(
    [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test("links lead somewhere", () => {
  const files = documents(ROOT);
  assert.ok(files.length >= 5);
  const broken = files.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [path = "", anchor] = target.split("#");
      const aim = path === "" ? file : join(dirname(file), path);
      const isThere =
        existsSync(aim) && (anchor === undefined || anchors(readFileSync(aim, "utf8")).has(anchor));
      return isThere ? [] : [`${relative(ROOT, file)}: ${target}`];
    });
  });
  assert.deepEqual(broken, []);
});
