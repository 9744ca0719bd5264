/** A JSON value that keeps what `JSON.parse` throws away: repeated keys, and how numbers are spelled. */
export type Json =
  | { kind: "object"; pairs: [key: string, value: Json][] }
  | { kind: "array"; items: Json[] }
  | { kind: "string"; value: string }
  | { kind: "number"; raw: string }
  | { kind: "true" | "false" | "null" };

/** Reads bytes that are to be JSON; `undefined` where `JSON.parse` refuses them. */
export function readJson(bytes: Uint8Array): Json | undefined {
  const text = new TextDecoder().decode(bytes);
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return new Reader(text).value();
}

/** The text with each half of a pair that stands alone replaced, as decoders do it. */
export function wellFormed(text: string): string {
  return text.replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    "\ufffd",
  );
}

/** The value as `JSON.parse` gives it, its texts well-formed. */
export function plain(json: Json): unknown {
  switch (json.kind) {
    case "object":
      return Object.fromEntries(json.pairs.map(([key, value]) => [key, plain(value)]));
    case "array":
      return json.items.map(plain);
    case "string":
      return json.value;
    case "number":
      return Number(json.raw);
    default:
      return JSON.parse(json.kind);
  }
}

/** Walks text that is known to be valid. */
class Reader {
  private readonly tokens: string[];
  private at = 0;

  constructor(text: string) {
    this.tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs) ?? [];
  }

  private take(): string {
    return this.tokens[this.at++] ?? "";
  }

  value(): Json {
    const token = this.take();
    if (token === "{") return { kind: "object", pairs: this.list("}", () => this.pair()) };
    if (token === "[") return { kind: "array", items: this.list("]", () => this.value()) };
    if (token.startsWith('"')) return { kind: "string", value: decode(token) };
    if (token === "true" || token === "false" || token === "null") return { kind: token };
    return { kind: "number", raw: token };
  }

  private pair(): [string, Json] {
    const key = decode(this.take());
    this.take();
    return [key, this.value()];
  }

  private list<T>(end: string, item: () => T): T[] {
    const items: T[] = [];
    while (this.tokens[this.at] !== end) {
      items.push(item());
      if (this.tokens[this.at] === ",") this.at++;
    }
    this.at++;
    return items;
  }
}

function decode(token: string): string {
  return wellFormed(JSON.parse(token) as string);
}
