import type { Api, Prompt } from "./prompt.ts";
import { mix } from "./tokens.ts";

/** Token counts of one answer. */
export interface Usage {
  promptTokens: number;
  cachedTokens: number;
  /** Over all choices. */
  completionTokens: number;
}

/** One answer in the making: whom it is for and how it is named. */
export interface Answer {
  id: string;
  prompt: Prompt;
  /** Unix seconds. */
  created: number;
  /** Of the rendered prompt; the answer's words come from it. */
  seed: number;
  outputTokens: number;
}

/** The `index`-th token of an answer: 4 bytes, so one pseudo token. */
export function answerToken(seed: number, index: number): string {
  const h = mix(seed, index) >>> 0;
  const letter = (n: number): string => String.fromCharCode(97 + (n % 26));
  return `${letter(h)}${letter(h >>> 8)}${letter(h >>> 16)} `;
}

export function answerText(answer: Answer): string {
  let text = "";
  for (let i = 0; i < answer.outputTokens; i += 1) text += answerToken(answer.seed, i);
  return text;
}

/** An id in the manner of the API. */
export function answerId(api: Api, serial: string): string {
  if (api === "chat") return `chatcmpl-${serial}`;
  if (api === "responses") return `resp_${serial}`;
  if (api === "messages") return `msg_${serial}`;
  return `cmpl-${serial}`;
}

export function openaiUsage(usage: Usage): object {
  return {
    prompt_tokens: usage.promptTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    completion_tokens: usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
  };
}

function responsesUsage(usage: Usage): object {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
}

/** Anthropic counts cached tokens apart from `input_tokens`. */
export function anthropicUsage(usage: Usage): object {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.completionTokens,
  };
}

/** Why it stopped, in OpenAI's words. */
export function finishReason(answer: Answer): "stop" | "length" {
  return answer.outputTokens >= answer.prompt.maxTokens ? "length" : "stop";
}

/** SGLang's `meta_info`. */
export function metaInfo(answer: Answer, usage: Usage): object {
  return {
    id: answer.id,
    finish_reason: { type: finishReason(answer) },
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    cached_tokens: usage.cachedTokens,
  };
}

/** The whole answer of a request that isn't streamed. */
export function wholeAnswer(answer: Answer, usage: Usage): object {
  const { prompt, id, created } = answer;
  const text = answerText(answer);
  const choices = Array.from({ length: prompt.choices }, (_, index) => index);
  switch (prompt.api) {
    case "chat":
      return {
        id,
        object: "chat.completion",
        created,
        model: prompt.model,
        choices: choices.map((index) => ({
          index,
          message: { role: "assistant", content: text },
          logprobs: null,
          finish_reason: finishReason(answer),
        })),
        usage: openaiUsage(usage),
      };
    case "completions":
      return {
        id,
        object: "text_completion",
        created,
        model: prompt.model,
        choices: choices.map((index) => ({
          index,
          text,
          logprobs: null,
          finish_reason: finishReason(answer),
        })),
        usage: openaiUsage(usage),
      };
    case "responses":
      return responseObject(answer, "completed", text, usage);
    case "messages":
      return {
        id,
        type: "message",
        role: "assistant",
        model: prompt.model,
        content: [{ type: "text", text }],
        stop_reason: finishReason(answer) === "stop" ? "end_turn" : "max_tokens",
        stop_sequence: null,
        usage: anthropicUsage(usage),
      };
    case "embeddings":
      return {
        id,
        object: "list",
        created,
        model: prompt.model,
        data: [{ index: 0, object: "embedding", embedding: embedding(answer.seed) }],
        usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens },
      };
    case "sglang":
      return { text, meta_info: metaInfo(answer, usage) };
    case "tgi":
      return {
        generated_text: text,
        details: { finish_reason: "length", generated_tokens: usage.completionTokens },
      };
    case "llamacpp":
      return {
        index: 0,
        content: text,
        stop: true,
        model: prompt.model,
        tokens_predicted: usage.completionTokens,
        tokens_evaluated: usage.promptTokens,
        tokens_cached: usage.cachedTokens,
      };
  }
}

/** The Responses API's object, `usage` null while it is in progress. */
export function responseObject(
  answer: Answer,
  status: "in_progress" | "completed",
  text: string,
  usage: Usage | null,
): object {
  return {
    id: answer.id,
    object: "response",
    created_at: answer.created,
    status,
    model: answer.prompt.model,
    output:
      status === "completed"
        ? [
            {
              type: "message",
              id: `msg_${answer.id}`,
              role: "assistant",
              status,
              content: [{ type: "output_text", text, annotations: [] }],
            },
          ]
        : [],
    usage: usage === null ? null : responsesUsage(usage),
  };
}

function embedding(seed: number): number[] {
  return Array.from({ length: 16 }, (_, i) => mix(seed, i) / 2 ** 31);
}
