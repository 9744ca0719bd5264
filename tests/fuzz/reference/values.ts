import type { Json } from "../json.ts";

const KEY_BYTES = 256;
const NUMBER_BYTES = 64;

/** The last value under `key`. */
export function field(json: Json | undefined, key: string): Json | undefined {
  if (json?.kind !== "object") return undefined;
  return json.pairs.findLast(([name]) => name === key)?.[1];
}

/** The string, or nothing. */
export function textOf(json: Json | undefined): string {
  return json?.kind === "string" ? json.value : "";
}

/** Written compactly, as the reader measures it. */
export function compact(json: Json, sorted: boolean): string {
  switch (json.kind) {
    case "object": {
      const pairs = json.pairs.map(
        ([k, v]) => `${JSON.stringify(cutKey(k))}:${compact(v, sorted)}`,
      );
      return `{${(sorted ? pairs.sort() : pairs).join()}}`;
    }
    case "array":
      return `[${json.items.map((item) => compact(item, sorted)).join()}]`;
    case "string":
      return JSON.stringify(json.value);
    case "number":
      return json.raw.slice(0, NUMBER_BYTES);
    default:
      return json.kind;
  }
}

function cutKey(key: string): string {
  const bytes = Buffer.from(key);
  return bytes.length <= KEY_BYTES ? key : bytes.subarray(0, KEY_BYTES).toString("latin1");
}
