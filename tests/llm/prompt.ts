import { hashText, mix, TokenList } from "./tokens.ts";

/** The answer formats the server speaks. */
export type Api =
  | "chat"
  | "completions"
  | "responses"
  | "messages"
  | "embeddings"
  | "sglang"
  | "tgi"
  | "llamacpp";

/** What a request asks for, rendered to tokens as its engine's chat template would. */
export interface Prompt {
  api: Api;
  model: string;
  tokens: TokenList;
  /** Of model, adapter and cache salt: other seeds never share a cache. */
  seed: number;
  /** The request's cap; infinite if it names none. */
  maxTokens: number;
  choices: number;
  stream: boolean;
  includeUsage: boolean;
}

type Json = Record<string, unknown>;

const PATHS: ReadonlyMap<string, Api> = new Map<string, Api>([
  ["/v1/chat/completions", "chat"],
  ["/v1/completions", "completions"],
  ["/v1/responses", "responses"],
  ["/v1/messages", "messages"],
  ["/v1/embeddings", "embeddings"],
  ["/generate", "sglang"],
  ["/completion", "llamacpp"],
]);

/** The API behind a path, undefined for paths that run no model. */
export function apiOf(path: string): Api | undefined {
  return PATHS.get(path);
}

/** A request that the engine answers with 400. */
export class BadRequest extends Error {}

/**
 * Renders a request body. Earlier turns of `previous_response_id` come from `stored`.
 * @throws BadRequest where a real server would answer 400.
 */
export function readPrompt(
  api: Api,
  body: unknown,
  stored: (responseId: string) => TokenList | undefined,
): Prompt {
  if (!isObject(body)) throw new BadRequest("the body is no JSON object");
  const tokens = new TokenList();
  const model = typeof body.model === "string" ? body.model : "default";
  const options = isObject(body.stream_options) ? body.stream_options : {};
  const prompt: Prompt = {
    api: api === "sglang" && "inputs" in body ? "tgi" : api,
    model,
    tokens,
    seed: mix(hashText(model), hashText(text(body.lora_path) + text(body.cache_salt))),
    maxTokens: maxTokens(body),
    choices: Math.max(count(body.n, 1), count(body.best_of, 1)),
    stream: body.stream === true,
    includeUsage: options.include_usage === true,
  };
  switch (api) {
    case "chat":
      if (!Array.isArray(body.messages)) throw new BadRequest("messages: expected a list");
      pushTools(tokens, body.tools);
      for (const message of body.messages) pushMessage(tokens, message);
      pushHeader(tokens, "assistant");
      break;
    case "messages":
      if (!Array.isArray(body.messages)) throw new BadRequest("messages: expected a list");
      pushTools(tokens, body.tools);
      if (body.system !== undefined) pushMessage(tokens, { role: "system", content: body.system });
      for (const message of body.messages) pushMessage(tokens, message);
      pushHeader(tokens, "assistant");
      break;
    case "responses":
      pushResponses(tokens, body, stored);
      break;
    case "embeddings":
      if (body.input === undefined) throw new BadRequest("input: missing");
      pushPrompt(tokens, body.input);
      prompt.maxTokens = 0;
      break;
    case "completions":
    case "llamacpp":
      if (body.prompt === undefined) throw new BadRequest("prompt: missing");
      pushPrompt(tokens, body.prompt);
      break;
    default:
      pushPrompt(tokens, body.inputs ?? body.text ?? body.input_ids ?? "");
  }
  if (tokens.length === 0) tokens.pushToken(0);
  return prompt;
}

function pushResponses(
  tokens: TokenList,
  body: Json,
  stored: (responseId: string) => TokenList | undefined,
): void {
  const previous = body.previous_response_id;
  if (typeof previous === "string") {
    const before = stored(previous);
    if (before === undefined) throw new BadRequest("previous_response_id: not found");
    tokens.pushList(before);
  } else {
    pushTools(tokens, body.tools);
    if (typeof body.instructions === "string") {
      pushMessage(tokens, { role: "system", content: body.instructions });
    }
  }
  if (Array.isArray(body.input)) {
    for (const item of body.input) pushMessage(tokens, item);
  } else {
    pushMessage(tokens, { role: "user", content: body.input });
  }
  pushHeader(tokens, "assistant");
}

/** A string, a list of strings, token ids, or a list of those. */
function pushPrompt(tokens: TokenList, value: unknown): void {
  if (typeof value === "string") tokens.pushText(value);
  else if (typeof value === "number") tokens.pushToken(value);
  else if (Array.isArray(value)) for (const part of value) pushPrompt(tokens, part);
}

function pushTools(tokens: TokenList, tools: unknown): void {
  if (Array.isArray(tools) && tools.length > 0) {
    pushHeader(tokens, "tools");
    for (const tool of tools) tokens.pushText(JSON.stringify(tool));
  }
}

function pushHeader(tokens: TokenList, role: string): void {
  tokens.pushText(`<|${role}|>`);
}

function pushMessage(tokens: TokenList, message: unknown): void {
  if (typeof message === "string") {
    tokens.pushText(message);
    return;
  }
  if (!isObject(message)) return;
  pushHeader(tokens, text(message.role) || text(message.type) || "user");
  pushContent(tokens, message.content);
  for (const key of ["reasoning_content", "tool_calls", "arguments", "output", "name"]) {
    const value = message[key];
    if (typeof value === "string") tokens.pushText(value);
    else if (value !== undefined && value !== null) tokens.pushText(JSON.stringify(value));
  }
}

function pushContent(tokens: TokenList, content: unknown): void {
  if (typeof content === "string") {
    tokens.pushText(content);
    return;
  }
  if (!Array.isArray(content)) return;
  for (const part of content) {
    if (typeof part === "string") tokens.pushText(part);
    else if (isObject(part)) pushPart(tokens, part);
  }
}

function pushPart(tokens: TokenList, part: Json): void {
  const media = part.image_url ?? part.source ?? part.input_audio ?? part.image ?? part.file;
  if (media !== undefined) tokens.pushMedia(JSON.stringify(media));
  else if (typeof part.text === "string") tokens.pushText(part.text);
  else if (typeof part.thinking === "string") tokens.pushText(part.thinking);
  else if (part.input !== undefined) tokens.pushText(JSON.stringify(part.input));
  else pushContent(tokens, part.content);
}

function maxTokens(body: Json): number {
  const parameters = isObject(body.parameters) ? body.parameters : body.sampling_params;
  const nested = isObject(parameters) ? parameters.max_new_tokens : undefined;
  const named = [
    body.max_tokens,
    body.max_completion_tokens,
    body.max_output_tokens,
    body.n_predict,
    nested,
  ];
  let least = Number.POSITIVE_INFINITY;
  for (const cap of named) {
    if (typeof cap === "number" && cap >= 0) least = Math.min(least, Math.floor(cap));
  }
  return least;
}

function count(value: unknown, otherwise: number): number {
  return typeof value === "number" && value >= 1 ? Math.floor(value) : otherwise;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
