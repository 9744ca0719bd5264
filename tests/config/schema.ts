/** What filter.schema.json uses of JSON Schema 2020-12. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  description?: string;
  default?: unknown;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  maxItems?: number;
  uniqueItems?: boolean;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean;
  anyOf?: Schema[];
  allOf?: Schema[];
  not?: Schema;
}

/** Words that say nothing about values. */
const ANNOTATIONS = ["$schema", "$defs", "$ref", "title", "description", "default"];

type Check = (schema: Schema, value: unknown, root: Schema) => boolean;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const CHECKS: Record<string, Check> = {
  type: ({ type }, value) => [type].flat().some((name) => typeOf(value).includes(name as string)),
  const: (schema, value) => same(schema.const, value),
  enum: (schema, value) => (schema.enum ?? []).some((item) => same(item, value)),
  minimum: ({ minimum }, value) => typeof value !== "number" || value >= (minimum as number),
  maximum: ({ maximum }, value) => typeof value !== "number" || value <= (maximum as number),
  minLength: ({ minLength }, value) =>
    typeof value !== "string" || [...value].length >= (minLength as number),
  maxLength: ({ maxLength }, value) =>
    typeof value !== "string" || [...value].length <= (maxLength as number),
  pattern: ({ pattern }, value) =>
    typeof value !== "string" || new RegExp(pattern as string, "u").test(value),
  maxItems: ({ maxItems }, value) => !Array.isArray(value) || value.length <= (maxItems as number),
  uniqueItems: (_schema, value) =>
    !Array.isArray(value) ||
    new Set(value.map((item) => JSON.stringify(item))).size === value.length,
  items: ({ items }, value, root) =>
    !Array.isArray(value) || value.every((item) => isValid(items as Schema, item, root)),
  properties: ({ properties }, value, root) =>
    !isObject(value) ||
    Object.entries(properties ?? {}).every(
      ([name, schema]) => !(name in value) || isValid(schema, value[name], root),
    ),
  additionalProperties: ({ properties }, value) =>
    !isObject(value) || Object.keys(value).every((name) => name in (properties ?? {})),
  anyOf: ({ anyOf }, value, root) => (anyOf ?? []).some((schema) => isValid(schema, value, root)),
  allOf: ({ allOf }, value, root) => (allOf ?? []).every((schema) => isValid(schema, value, root)),
  not: ({ not }, value, root) => !isValid(not as Schema, value, root),
};

/** Whether a value satisfies a schema; throws on a word that isn't known here. */
export function isValid(schema: Schema, value: unknown, root: Schema = schema): boolean {
  if (schema.$ref !== undefined) {
    const target = root.$defs?.[schema.$ref.replace("#/$defs/", "")];
    if (target === undefined) throw new Error(`${schema.$ref} is missing`);
    if (!isValid(target, value, root)) return false;
  }
  return Object.keys(schema)
    .filter((word) => !ANNOTATIONS.includes(word))
    .every((word) => {
      const check = CHECKS[word];
      if (check === undefined) throw new Error(`unknown word of JSON Schema: ${word}`);
      return check(schema, value, root);
    });
}

/** Names of JSON Schema's types that a value has. */
function typeOf(value: unknown): string[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  if (typeof value === "number")
    return Number.isInteger(value) ? ["integer", "number"] : ["number"];
  return [typeof value];
}
