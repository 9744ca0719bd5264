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
  // System text: likewise.
  System,
  Instructions,
  // Tools.
  Tools,
  Functions,
  // Strings.
  Model,
  User,
  CacheSalt,
  PreviousResponseId,
  Lora,
  LoraPath,
  LoraId,
  AdapterId,
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
  return key >= RootKey.Messages && key <= RootKey.InputIds;
}

export function isSystem(key: RootKey): bool {
  return key == RootKey.System || key == RootKey.Instructions;
}

export function isTools(key: RootKey): bool {
  return key == RootKey.Tools || key == RootKey.Functions;
}

export function isAdapter(key: RootKey): bool {
  return key >= RootKey.Lora && key <= RootKey.AdapterId;
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
  } else if (outer == RootKey.SamplingParams) {
    if (key == RootKey.MaxNewTokens) return RootKey.SamplingMaxNewTokens;
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
table.add("input_ids", RootKey.InputIds);
table.add("system", RootKey.System);
table.add("instructions", RootKey.Instructions);
table.add("tools", RootKey.Tools);
table.add("functions", RootKey.Functions);
table.add("model", RootKey.Model);
table.add("user", RootKey.User);
table.add("cache_salt", RootKey.CacheSalt);
table.add("previous_response_id", RootKey.PreviousResponseId);
table.add("lora", RootKey.Lora);
table.add("lora_path", RootKey.LoraPath);
table.add("lora_id", RootKey.LoraId);
table.add("adapter_id", RootKey.AdapterId);
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
