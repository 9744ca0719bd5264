/**
 * What a request body says, worked out the plain way from the whole value: the measure that the
 * streaming reader is held against.
 */
import { type Json, wellFormed } from "../json.ts";
import { type Boundary, Items, readSystem } from "./prompt.ts";
import { addTally, emptyTally, type Tally } from "./tally.ts";
import { compact, field, renamed, textOf } from "./values.ts";

export interface Session {
  text: string;
  rank: number;
}

export interface Expected {
  isPrompt: boolean;
  model: string;
  stream: boolean;
  outputCap: number;
  answers: number;
  bestOf: number;
  prompt: Tally;
  prompts: number;
  toolsBytes: number;
  nonceBytes: number;
  session: Session | undefined;
  user: string;
  /** Undefined where it is a list or an object. */
  cacheSalt: string | undefined;
  previousResponseId: string;
  adapters: string[];
  /** Tools, system and first user message, in a form that differs where they do. */
  opening: string;
  boundaries: Boundary[];
}

const PROMPT_KEYS = ["messages", "prompt", "input", "inputs", "text", "input_ids", "documents"];
const SYSTEM_KEYS = ["system", "instructions", "query"];
/** Other names of fields. */
const NAMES = {
  text_input: "text",
  prompt_token_ids: "input_ids",
  token_ids: "input_ids",
  text_2: "documents",
  data_2: "documents",
  queries: "query",
  text_1: "query",
  data_1: "query",
  images: "image_data",
  multi_modal_data: "image_data",
};
const CAP_KEYS = [
  "max_completion_tokens",
  "max_output_tokens",
  "max_tokens",
  "max_new_tokens",
  "n_predict",
];

/** Paths of the session fields, first one first. */
const SESSION_PATHS: readonly string[] = [
  "previous_response_id",
  "conversation",
  "prompt_cache_key",
  "session_id",
  "metadata.session_id",
  "metadata.conversation_id",
  "metadata.user_id",
];

export function readBody(given: Json): Expected {
  const root = renamed(given, NAMES);
  const promptValue = chosen(root, PROMPT_KEYS, acceptsPrompt);
  const items = new Items(promptValue.value, promptValue.key === "messages");
  const systemValue = chosen(root, SYSTEM_KEYS, acceptsSystem);
  // A query counts only beside documents.
  const isStray = systemValue.key === "query" && promptValue.key !== "documents";
  const system = readSystem(isStray ? undefined : systemValue.value);
  const prompt = emptyTally();
  addTally(prompt, system.tally);
  addTally(prompt, items.tally);
  const tools = ["tools", "functions"].flatMap((key) => {
    const value = field(root, key);
    return value?.kind === "array" && value.items.length > 0 ? [{ value }] : [];
  });
  const toolsBytes = tools.reduce(
    (sum, { value }) => sum + Buffer.byteLength(compact(value, false)),
    0,
  );
  const toolsForm = tools.map(({ value }) => compact(value, true)).join("|");
  const parameters = field(root, "parameters");
  const sampling = renamed(field(root, "sampling_params"), { max_tokens: "max_new_tokens" });
  const caps = CAP_KEYS.map((key) => field(root, key));
  caps.push(field(parameters, "max_new_tokens"), field(sampling, "max_new_tokens"));
  const isPrompt = prompt.bytes + prompt.ids + prompt.images + prompt.audios > 0;
  prompt.images += members(field(root, "image_data")) + members(field(root, "video_data"));
  prompt.audios += members(field(root, "audio_data"));
  const salt = field(root, "cache_salt");
  return {
    isPrompt,
    model: textOf(field(root, "model")),
    stream: field(root, "stream")?.kind === "true",
    outputCap: caps.map(count).find((cap) => cap > 0) ?? 0,
    answers: answers(field(root, "n"), field(sampling, "n")),
    bestOf: answers(field(root, "best_of"), field(parameters, "best_of")),
    prompt,
    prompts: Math.max(1, items.prompts),
    toolsBytes,
    nonceBytes: Buffer.byteLength(system.nonce + items.nonce),
    session: session(root),
    user: textOf(field(root, "user")),
    cacheSalt: salt?.kind === "array" || salt?.kind === "object" ? undefined : textOf(salt),
    previousResponseId: textOf(field(root, "previous_response_id")),
    adapters: ["lora", "lora_path", "lora_id", "adapter_id"].map((key) => textOf(field(root, key))),
    opening: JSON.stringify([toolsForm, system.form, items.first]),
    boundaries: boundaries(toolsForm, toolsBytes, system, items),
  };
}

function boundaries(
  tools: string,
  toolsBytes: number,
  system: ReturnType<typeof readSystem>,
  items: Items,
): Boundary[] {
  const all: Boundary[] = [];
  if (tools !== "") all.push({ bytes: toolsBytes, ids: 0, media: 0, before: `tools ${tools}` });
  if (system.form !== "") {
    for (const b of system.boundaries) {
      all.push({ ...b, bytes: toolsBytes + b.bytes, before: `${tools} system ${b.before}` });
    }
  }
  const { bytes, images, audios } = system.tally;
  for (const b of items.boundaries) {
    all.push({
      bytes: toolsBytes + bytes + b.bytes,
      ids: b.ids,
      media: images + audios + b.media,
      before: `${tools} system ${system.form} messages ${b.before}`,
    });
  }
  return all.filter((b) => b.bytes + b.ids + b.media > 0);
}

/** Members of a list or an object, 1 for a text that isn't empty. */
function members(json: Json | undefined): number {
  if (json?.kind === "array") return json.items.length;
  return json?.kind === "object" ? json.pairs.length : Math.sign(textOf(json).length);
}

/** A positive number, 0 where it is anything else. */
function count(json: Json | undefined): number {
  if (json?.kind !== "number") return 0;
  const value = Number(json.raw.slice(0, 64));
  return value >= 1 && Number.isFinite(value) ? Math.floor(Math.min(value, 2147483647)) : 0;
}

function answers(outer: Json | undefined, inner: Json | undefined): number {
  return Math.min(1024, Math.max(1, count(outer) || count(inner)));
}

/** The value that counts among several keys, first key first; a later one under the same key replaces it. */
function chosen(root: Json, keys: string[], accepts: (key: string, value: Json) => boolean) {
  let key = "";
  let value: Json | undefined;
  if (root.kind !== "object") return { key, value };
  for (const [name, candidate] of root.pairs) {
    if (!keys.includes(name)) continue;
    if (name === key) {
      key = "";
      value = undefined;
    }
    if (!accepts(name, candidate)) continue;
    if (key !== "" && keys.indexOf(key) < keys.indexOf(name)) continue;
    key = name;
    value = candidate;
  }
  return { key, value };
}

function acceptsPrompt(key: string, value: Json): boolean {
  return (
    value.kind === "array" || (value.kind === "string" && key !== "messages" && key !== "input_ids")
  );
}

function acceptsSystem(_key: string, value: Json): boolean {
  return value.kind === "array" || value.kind === "string";
}

function session(root: Json): Session | undefined {
  for (const [rank, path] of SESSION_PATHS.entries()) {
    let value: Json | undefined = root;
    for (const key of path.split(".")) value = field(value, key);
    let name = textOf(value);
    if (path === "conversation" && value?.kind === "object") name = textOf(field(value, "id"));
    if (path === "metadata.user_id") name = sessionOfUser(name);
    if (!/^[\0- ]*$/.test(name)) return { text: name, rank };
  }
  return undefined;
}

function sessionOfUser(id: string): string {
  if (Buffer.byteLength(id) > 1024) return "";
  if (!id.startsWith("{")) return /^user_.*?_account_.*?_session_(.+)$/s.exec(id)?.[1] ?? "";
  try {
    const name = (JSON.parse(id) as { session_id?: unknown }).session_id;
    return typeof name === "string" ? wellFormed(name) : "";
  } catch {
    return "";
  }
}
