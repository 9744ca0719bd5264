import type { Json } from "../json.ts";

const KEY_BYTES = 256;
const NUMBER_BYTES = 64;

/** The last value under `key`. */
export function field(json: Json | undefined, key: string): Json | undefined {
  if (json?.kind !== "object") return undefined;
  return json.pairs.findLast(([name]) => name === key)?.[1];
}

/** The same object with its keys' other names replaced. */
export function renamed<T extends Json | undefined>(json: T, names: Record<string, string>): T {
  if (json?.kind !== "object") return json;
  const pairs = json.pairs.map(([key, value]): [string, Json] => {
    return [Object.hasOwn(names, key) ? (names[key] as string) : key, value];
  });
  return { ...json, pairs };
}

/** Strings under `image_url`, at any depth. */
export function imagesIn(json: Json): number {
  if (json.kind === "array") return json.items.reduce((sum, item) => sum + imagesIn(item), 0);
  if (json.kind !== "object") return 0;
  return json.pairs.reduce((sum, [key, value]) => {
    return sum + (key === "image_url" && value.kind === "string" ? 1 : imagesIn(value));
  }, 0);
}

/** The string, or nothing. */
export function textOf(json: Json | undefined): string {
  return json?.kind === "string" ? json.value : "";
}

/** Written compactly: sorted, in full; else as the reader measures it, without images. */
export function compact(json: Json, sorted: boolean): string {
  switch (json.kind) {
    case "object": {
      const pairs = json.pairs.map(([k, v]) => {
        const isImage = !sorted && k === "image_url" && v.kind === "string";
        return `${JSON.stringify(cutKey(k))}:${isImage ? '""' : compact(v, sorted)}`;
      });
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
