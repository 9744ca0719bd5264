import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../tools/paths.ts";
import { decideCase, QUEUES, withExample } from "./example.ts";

test("example: a warm server is worth a short wait, not a long one", () => {
  const [idle, short, long] = QUEUES.map(decideCase);
  for (const decided of [idle, short]) {
    assert.equal(decided?.servers[0]?.server, "A");
    assert.equal(decided?.reason, "prefix");
  }
  assert.notEqual(long?.servers[0]?.server, "A");
  assert.equal(long?.reason, "load");
  for (const { servers } of [idle, short, long].flatMap((decided) => decided ?? [])) {
    assert.equal(servers.length, 3);
    for (const { totalMs, waitMs, prefillMs, restMs, uncachedTokens } of servers) {
      // Rounded one by one.
      assert.ok(Math.abs(totalMs - waitMs - prefillMs - restMs) <= 2);
      // The default speed: 0.055 ms per token.
      assert.ok(Math.abs(prefillMs - 0.055 * uncachedTokens) <= 1);
    }
    const costs = servers.map(({ totalMs }) => totalMs);
    assert.deepEqual(
      costs,
      costs.toSorted((a, b) => a - b),
    );
  }
});

test("example: README.md shows what the filter decides", () => {
  const text = readFileSync(join(ROOT, "README.md"), "utf8");
  assert.equal(
    text,
    withExample(text),
    "run: node tools/run.mjs tests/filter/example.ts (after npm run build)",
  );
});
