import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { parseAllDocuments } from "yaml";
import { ROOT } from "../../tools/paths.ts";
import { startParser } from "../config/parser.ts";
import { isValid, type Schema } from "../config/schema.ts";
import { filterModule } from "../filter/gateway.ts";
import { Host } from "../host/host.ts";

const FOLDER = join(ROOT, "examples", "configs");
const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));

const read = (...path: string[]) => readFileSync(join(ROOT, ...path), "utf8");
const schema = JSON.parse(read("envoy", "filter.schema.json")) as Schema;
const parser = startParser();

/** What the shipped filter says to a configuration; empty if it takes it. */
function refusal(configuration: string): string {
  const host = new Host({ clusters: ["llm", "inference", "prometheus", "envoy_admin"] });
  const vm = host.createVm(filterModule(), { vmId: "warmroute" });
  const root = vm.createRoot({ rootId: "warmroute", config: configuration });
  return root.accepted ? "" : host.logs.map(({ message }) => message).join("\n");
}

test("each example is taken by the schema, the parser and the filter", () => {
  assert.ok(files.length >= 10);
  for (const name of files) {
    const text = read("examples", "configs", name);
    assert.ok(isValid(schema, JSON.parse(text)), `${name}: not by the schema`);
    assert.equal(parser.check(text), "", name);
    assert.equal(refusal(text), "", name);
  }
  assert.match(refusal('{"hosts":["nowhere"]}'), /hosts\[0\]/);
});

test("the README names each example, and no other", () => {
  const named = [...read("examples", "configs", "README.md").matchAll(/^\| `(.+\.json)` \|/gm)];
  assert.deepEqual(named.map(([, name]) => name).sort(), files.sort());
});

/** Plugin configurations inside manifests: a StringValue's text, or `config` of Envoy Gateway's wasm. */
function embedded(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(embedded);
  if (typeof value !== "object" || value === null) return [];
  const object = value as Record<string, unknown>;
  if (object["@type"] === "type.googleapis.com/google.protobuf.StringValue") {
    return [String(object.value)];
  }
  if (object.rootID === "warmroute") return [JSON.stringify(object.config)];
  return Object.values(object).flatMap(embedded);
}

test("configurations inside manifests are taken too", () => {
  const manifests: [number, ...string[]][] = [
    [1, "envoy", "envoy.yaml"],
    // The filter, and the one on the listener for other gateways.
    [2, "examples", "istio", "gateway.yaml"],
    [1, "examples", "istio", "sidecar.yaml"],
    [1, "examples", "envoy-gateway", "warmroute.yaml"],
  ];
  for (const [count, ...path] of manifests) {
    const documents = parseAllDocuments(read(...path)).map((document) => document.toJS());
    const found = embedded(documents);
    assert.equal(found.length, count, path.join("/"));
    for (const text of found) {
      assert.equal(parser.check(text), "", path.join("/"));
      assert.ok(isValid(schema, JSON.parse(text)), path.join("/"));
    }
  }
});
