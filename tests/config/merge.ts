/** Plugin configuration: an object like envoy/filter.json. */
export type Configuration = Record<string, unknown>;

/** `over` laid over `base`: objects field by field, all else replaced. */
export function merge(base: Configuration, over: Configuration): Configuration {
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isObject(before) && isObject(value) ? merge(before, value) : value;
  }
  return merged;
}

function isObject(value: unknown): value is Configuration {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
