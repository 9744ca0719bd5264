import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { ROOT } from "../../tools/paths.ts";
import { readme } from "../../tools/readme.ts";

test("the configuration table of README.md is the schema's (node --import tsx tools/readme.ts)", () => {
  assert.equal(readFileSync(join(ROOT, "README.md"), "utf8"), readme());
});
