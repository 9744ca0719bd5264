/** The names at the top of a request body that count, of all APIs. */
import { KeyTable } from "./keytable";

export const enum RootKey {
  Unknown = 0,
  // Prompts: where several are given, the first in this order counts.
  Messages,
  Prompt,
  Input,
  Inputs,
  Text,
  InputIds,
  Documents,
  // System text: likewise.
  System,
  Instructions,
  Query,
  // Tools.
  Tools,
  Functions,
  // Strings.
  Model,
  User,
  PreviousResponseId,
  // What a server's cache depends on beside the prompt's text: strings, lists or objects.
  CacheSalt,
  ExtraKey,
  Lora,
  LoraPath,
  LoraId,
  AdapterId,
  ParametersAdapterId,
  PromptTemplate,
  ImageData,
  VideoData,
  AudioData,
  // Objects with further fields.
  Parameters,
  SamplingParams,
  // Numbers; of the limits, the first in this order counts.
  MaxCompletionTokens,
  MaxOutputTokens,
  MaxTokens,
  MaxNewTokens,
  NPredict,
  N,
  BestOf,
  ParametersMaxNewTokens,
  ParametersBestOf,
  SamplingMaxNewTokens,
  SamplingN,
  // Flags.
  Stream,
  Count,
}

export function isPrompt(key: RootKey): bool {
  return key >= RootKey.Messages && key <= RootKey.Documents;
}

export function isSystem(key: RootKey): bool {
  return key >= RootKey.System && key <= RootKey.Query;
}

export function isTools(key: RootKey): bool {
  return key == RootKey.Tools || key == RootKey.Functions;
}

export function isSeed(key: RootKey): bool {
  return key >= RootKey.CacheSalt && key <= RootKey.AudioData;
}

/** Whether a string there counts as a whole. */
export function isNamed(key: RootKey): bool {
  return key >= RootKey.Model && key <= RootKey.AudioData;
}

/** Whether images, videos or sounds stand there, beside the prompt. */
export function isMediaData(key: RootKey): bool {
  return key >= RootKey.ImageData && key <= RootKey.AudioData;
}

export function isNumber(key: RootKey): bool {
  return key >= RootKey.MaxCompletionTokens && key <= RootKey.SamplingN;
}

/**
 * The key's number.
 * @param outer the key whose object holds it: `Unknown` at the top
 */
export function rootKey(ptr: usize, len: i32, outer: RootKey): RootKey {
  const key = <RootKey>table.find(ptr, len);
  if (outer == RootKey.Unknown) return key;
  if (outer == RootKey.Parameters) {
    if (key == RootKey.MaxNewTokens) return RootKey.ParametersMaxNewTokens;
    if (key == RootKey.BestOf) return RootKey.ParametersBestOf;
    if (key == RootKey.AdapterId) return RootKey.ParametersAdapterId;
  } else if (outer == RootKey.SamplingParams) {
    if (key == RootKey.MaxNewTokens || key == RootKey.MaxTokens) {
      return RootKey.SamplingMaxNewTokens;
    }
    if (key == RootKey.N) return RootKey.SamplingN;
  }
  return RootKey.Unknown;
}

const table = new KeyTable();
table.add("messages", RootKey.Messages);
table.add("prompt", RootKey.Prompt);
table.add("input", RootKey.Input);
table.add("inputs", RootKey.Inputs);
table.add("text", RootKey.Text);
table.add("text_input", RootKey.Text);
table.add("input_ids", RootKey.InputIds);
table.add("prompt_token_ids", RootKey.InputIds);
table.add("token_ids", RootKey.InputIds);
// Reranking and scoring: a query, and what it is held against.
table.add("documents", RootKey.Documents);
table.add("text_2", RootKey.Documents);
table.add("data_2", RootKey.Documents);
table.add("query", RootKey.Query);
table.add("queries", RootKey.Query);
table.add("text_1", RootKey.Query);
table.add("data_1", RootKey.Query);
table.add("system", RootKey.System);
table.add("instructions", RootKey.Instructions);
table.add("tools", RootKey.Tools);
table.add("functions", RootKey.Functions);
table.add("model", RootKey.Model);
table.add("user", RootKey.User);
table.add("cache_salt", RootKey.CacheSalt);
table.add("extra_key", RootKey.ExtraKey);
table.add("previous_response_id", RootKey.PreviousResponseId);
table.add("lora", RootKey.Lora);
table.add("lora_path", RootKey.LoraPath);
table.add("lora_id", RootKey.LoraId);
table.add("adapter_id", RootKey.AdapterId);
table.add("image_data", RootKey.ImageData);
table.add("images", RootKey.ImageData);
table.add("multi_modal_data", RootKey.ImageData);
table.add("video_data", RootKey.VideoData);
table.add("audio_data", RootKey.AudioData);
table.add("parameters", RootKey.Parameters);
table.add("sampling_params", RootKey.SamplingParams);
table.add("max_completion_tokens", RootKey.MaxCompletionTokens);
table.add("max_output_tokens", RootKey.MaxOutputTokens);
table.add("max_tokens", RootKey.MaxTokens);
table.add("max_new_tokens", RootKey.MaxNewTokens);
table.add("n_predict", RootKey.NPredict);
table.add("n", RootKey.N);
table.add("best_of", RootKey.BestOf);
table.add("stream", RootKey.Stream);
