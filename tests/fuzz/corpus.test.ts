/** Every input that once found a fault, through every reader and the whole filter. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { startParser } from "../config/parser.ts";
import { isValid, type Schema } from "../config/schema.ts";
import { Gateway } from "../filter/gateway.ts";
import { instantiate } from "./build.ts";
import { corpus } from "./inputs.ts";
import { Readers } from "./metrics.readers.ts";

const schema = JSON.parse(
  readFileSync(new URL("../../envoy/filter.schema.json", import.meta.url), "utf8"),
) as Schema;
const parser = startParser();
const inputs = corpus();
let readers: Readers;
let scanner: Record<string, (...numbers: number[]) => number> & { memory: WebAssembly.Memory };

before(async () => {
  readers = await Readers.start();
  scanner = (await instantiate("echo")) as never;
});

/** Whether the scanner takes bytes for whole JSON. */
function scans(bytes: Uint8Array, step: number): boolean {
  new Uint8Array(scanner.memory.buffer, scanner.inputAddress?.(), bytes.length).set(bytes);
  scanner.reset?.();
  for (let at = 0; at < bytes.length; at += step) {
    scanner.feed?.(at, Math.min(step, bytes.length - at));
  }
  return scanner.finish?.() === 1;
}

function parses(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder().decode(bytes));
    return true;
  } catch {
    return false;
  }
}

for (const { name, bytes } of inputs) {
  test(`${name}: no reader trips over it, however it is cut`, () => {
    const bytewise = Array.from({ length: Math.max(bytes.length - 1, 0) }, (_, i) => i + 1);
    for (const step of [bytes.length || 1, 1]) assert.equal(scans(bytes, step), parses(bytes));
    assert.deepEqual(readers.metrics(bytes, bytewise, 1e12), readers.metrics(bytes, [], 1e12));
    assert.deepEqual(readers.clusters(bytes, bytewise), readers.clusters(bytes));
    for (const isEventStream of [true, false]) {
      const whole = readers.usage(bytes, [], isEventStream);
      assert.deepEqual(readers.usage(bytes, bytewise, isEventStream), whole);
    }
    readers.orca(bytes);
    const taken = parser.check(bytes) === "";
    if (taken) assert.ok(isValid(schema, JSON.parse(new TextDecoder().decode(bytes))));
  });

  test(`${name}: the filter goes on, whoever sends it`, () => {
    const gateway = new Gateway(["10.0.0.1:8000", "10.0.0.2:8000"], {
      config: { metrics: { interval_ms: 500 }, discovery: { source: "envoy_admin" } },
      onCall: (call) => call.respond(200, bytes),
    });
    const line = Buffer.from(bytes)
      .toString("latin1")
      .replace(/[\r\n\0]/g, " ");
    for (let round = 0; round < 3; round++) {
      gateway.host.advance(1000);
      const exchange = gateway.send(bytes, { headers: { "x-session-id": line } });
      exchange.answer({ host: "10.0.0.1:8000", body: Buffer.from(bytes).toString("latin1") });
      const next = gateway.send({ model: "m", messages: [{ role: "user", content: "Hello" }] });
      assert.ok(next.choice.length > 0, "it still decides");
      next.answer({ headers: { "endpoint-load-metrics": line } });
    }
    assert.equal(gateway.stat("internal_errors_total"), 0);
  });
}
