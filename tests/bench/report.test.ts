import assert from "node:assert/strict";
import test from "node:test";
import { COUNTER, chatBodies, parseSize } from "./bodies.ts";
import { type Measured, median, rowsOf, tableOf } from "./report.ts";

function measured(name: string, round: number, cpuUs: number): Measured {
  return {
    name,
    round,
    cpuUs,
    bodyBytes: 1024,
    requests: 100,
    seconds: 1,
    p50Ms: 1,
    p99Ms: 2,
    failed: 0,
    refused: 0,
    requestsPerSecond: 1e6 / cpuUs,
    busy: 1,
    residentBytes: 2 ** 20,
  };
}

test("ratios are of the same round, and their median counts", () => {
  const rows = rowsOf([
    // The machine is twice as slow in the second round: for both.
    measured("envoy", 0, 30),
    measured("warmroute", 0, 45),
    measured("envoy", 1, 60),
    measured("warmroute", 1, 90),
    measured("envoy", 2, 30),
    measured("warmroute", 2, 48),
  ]);
  assert.deepEqual(
    rows.map(({ name, cpuRatio }) => [name, cpuRatio]),
    [
      ["envoy", 1],
      ["warmroute", 1.5],
    ],
  );
  assert.match(tableOf(rows), /warmroute .* 1\.50/);
});

test("medians of odd and even counts", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
});

test("bodies are JSON of about their size, differ, and hold one counter near the end", () => {
  for (const bytes of [1024, 32 * 1024]) {
    const bodies = chatBodies(4, bytes, 1, false);
    assert.equal(new Set(bodies).size, 4);
    for (const body of bodies) {
      JSON.parse(body);
      assert.ok(Math.abs(Buffer.byteLength(body) - bytes) < bytes / 3, String(body.length));
      assert.ok(body.length - body.indexOf(COUNTER) < 400);
    }
  }
  assert.equal(parseSize("32k"), 32_768);
  assert.throws(() => parseSize("many"), /expected a size/);
});
