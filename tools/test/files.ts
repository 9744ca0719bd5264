import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../paths.ts";

/** A file of node:test tests, `tests/<suite>/….test.ts`. */
export interface TestFile {
  suite: string;
  /** Relative to the project. */
  path: string;
}

/** All test files whose path has one of `parts`; all when there are none. */
export function findSuites(parts: string[]): { specs: string[]; files: TestFile[] } {
  const wanted = (path: string) =>
    parts.length === 0 || parts.some((part) => path.includes(part.replace(/^\.\//, "")));
  const found = ["tests", "examples"]
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((path) => !path.includes("node_modules") && wanted(path))
    .sort();
  const specs = found.filter((path) => path.endsWith(".spec.ts") && path.startsWith("tests/unit/"));
  const files = found
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => {
      const [top = "", suite = ""] = path.split("/");
      return { suite: top === "examples" ? top : suite, path };
    });
  return { specs, files };
}
