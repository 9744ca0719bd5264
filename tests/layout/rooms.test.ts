import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { importFaults } from "../../tools/rooms.ts";

test("pure rooms import nothing of Envoy, and imports point inwards, never in a circle", () => {
  assert.deepEqual(importFaults(), []);
});

test("imports that point outwards or in a circle are found", (t) => {
  const assembly = mkdtempSync(join(tmpdir(), "rooms-"));
  t.after(() => rmSync(assembly, { recursive: true }));
  const files = {
    "body/reader.ts": 'import { log } from "../host/log";\nimport { Keys } from "./keys";\n',
    "body/keys.ts": "export class Keys {}\n",
    "filter/root.ts": 'import { Stream } from "./stream";\n',
    "filter/stream.ts": 'import { Pool } from "./pool";\n',
    "filter/pool.ts": 'import { Root } from "./root";\nimport { Keys } from "../body/keys";\n',
  };
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(dirname(join(assembly, name)), { recursive: true });
    writeFileSync(join(assembly, name), source);
  }
  const [circle, outward, ...more] = importFaults(assembly);
  assert.deepEqual(more, []);
  assert.match(`${circle}`, /^imports in a circle: (filter\/\w+\.ts( → |$)){4}/);
  assert.match(`${outward}`, /body\/reader\.ts imports host\/log\.ts$/);
});
