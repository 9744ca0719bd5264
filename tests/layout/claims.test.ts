/** The tests that SECURITY.md and GUARANTEES.md name exist. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { ROOT } from "../../tools/paths.ts";

for (const document of ["SECURITY.md", "GUARANTEES.md"]) {
  test(`${document} names tests that exist`, () => {
    const text = readFileSync(join(ROOT, document), "utf8");
    const named = [...text.matchAll(/`(tests\/[\w./-]+)`(?: \*([^*]+)\*)?/g)];
    assert.ok(named.length > 10, `${named.length} tests named`);
    for (const [, path = "", title] of named) {
      assert.ok(existsSync(join(ROOT, path)), path);
      if (title === undefined) continue;
      assert.ok(readFileSync(join(ROOT, path), "utf8").includes(title), `${path}: ${title}`);
    }
  });
}
