import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Ajv, type ValidateFunction } from "ajv";
import { parseAllDocuments } from "yaml";
import { ROOT } from "../../tools/paths.ts";

type Schema = Record<string, unknown>;

const crds = JSON.parse(
  readFileSync(join(ROOT, "tests", "fixtures", "schemas", "crds.json"), "utf8"),
) as Record<string, Schema>;

/** As the API server with strict field validation: a field that a schema doesn't know is refused. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== "object" || schema === null) return schema;
  const { properties, ...rest } = schema as { properties?: Record<string, unknown> } & Schema;
  const inner = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, strict(value)]),
  );
  if (properties === undefined) return inner;
  const known = Object.entries(properties).map(([name, value]) => [name, strict(value)]);
  const open = rest["x-kubernetes-preserve-unknown-fields"] === true;
  // `oneOf` and the like name some properties again; only an object's own list is whole.
  const whole = rest.type === "object" && !open && !("additionalProperties" in rest);
  return {
    ...inner,
    properties: Object.fromEntries(known),
    ...(whole ? { additionalProperties: false } : {}),
  };
}

/** What every resource has, whether or not its schema names it. */
function withRoot(schema: Schema): Schema {
  const root = { apiVersion: { type: "string" }, kind: { type: "string" } };
  const properties = { ...root, metadata: { type: "object" }, ...(schema.properties as object) };
  return { ...schema, properties };
}

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
const validators = new Map<string, ValidateFunction>();

/** What a manifest's schema says against it; undefined where the kind is not known here. */
function complaint(manifest: { apiVersion: string; kind: string }): string | undefined {
  const name = `${manifest.apiVersion}/${manifest.kind}`;
  const schema = crds[name];
  if (schema === undefined) return undefined;
  const validate = validators.get(name) ?? ajv.compile(strict(withRoot(schema)) as Schema);
  validators.set(name, validate);
  return validate(manifest) ? "" : ajv.errorsText(validate.errors);
}

/** Kinds of Kubernetes itself. */
const BUILT_IN = ["v1/ConfigMap", "v1/Service", "networking.k8s.io/v1/NetworkPolicy"];

for (const folder of ["istio", "envoy-gateway", "inference-extension"]) {
  test(`manifests of examples/${folder} have the fields that their resources have`, () => {
    const path = join(ROOT, "examples", folder);
    const files = readdirSync(path).filter((name) => name.endsWith(".yaml"));
    assert.ok(files.length > 0);
    for (const file of files) {
      for (const document of parseAllDocuments(readFileSync(join(path, file), "utf8"))) {
        assert.deepEqual(document.errors, []);
        const manifest = document.toJS();
        const said = complaint(manifest);
        const name = `${manifest.apiVersion}/${manifest.kind}`;
        if (said === undefined) assert.ok(BUILT_IN.includes(name), `${file}: ${name}`);
        else assert.equal(said, "", `${file}: ${name} ${manifest.metadata.name}`);
      }
    }
  });
}

test("a field that doesn't exist is noticed", () => {
  const wrong = {
    apiVersion: "gateway.envoyproxy.io/v1alpha1",
    kind: "BackendTrafficPolicy",
    metadata: { name: "x" },
    spec: { loadBalancer: { type: "LeastRequest", endpointOverrides: {} } },
  };
  assert.match(complaint(wrong) ?? "", /additional properties/);
});
