import assert from "node:assert/strict";
import test from "node:test";
import { importFaults } from "../../tools/rooms.ts";

test("pure rooms import nothing of Envoy, and imports point inwards", () => {
  assert.deepEqual(importFaults(), []);
});
