import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { ROOT } from "../../tools/paths.ts";

/** Kinds of faults that people reported against gateways, each with its right outcome. */
const CASES = [
  1, 2, 4, 5, 6, 8, 10, 12, 14, 16, 18, 19, 21, 22, 24, 25, 27, 28, 30, 31, 32, 34, 36, 37, 38, 39,
];

/** Tests by the cases that their names tell: a name ends with its ids in brackets. */
function testsByCase(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const files = readdirSync(join(ROOT, "tests"), { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".test.ts"))) {
    const source = readFileSync(join(ROOT, "tests", file), "utf8");
    for (const [, name, ids] of source.matchAll(
      /["`]([^"`\n]+) \((BC-\d\d(?:, BC-\d\d)*)\)["`]/g,
    )) {
      for (const id of (ids as string).split(", ")) {
        found.set(id, [...(found.get(id) ?? []), `tests/${file}: ${name}`]);
      }
    }
  }
  return found;
}

test("each case is held by a test that names it", (t) => {
  const found = testsByCase();
  for (const number of CASES) {
    const id = `BC-${String(number).padStart(2, "0")}`;
    const tests = found.get(id) ?? [];
    assert.ok(tests.length > 0, `no test names ${id}`);
    for (const line of tests) t.diagnostic(`${id}  ${line}`);
  }
});
