/** What generated bodies are made of. */
export const WORDS = [
  "harbour ",
  "東京の港 ",
  'say "no" ',
  "line\nline\t",
  "é",
  "🚀",
  "\\",
  "a",
  "0123456789abcdef",
  "\u0007",
];
export const LENGTHS = [0, 1, 1, 2, 3, 5, 8, 40, 130];
export const NONCES = [
  "x-anthropic-billing-header: v=1;\nrest",
  "x-anthropic-billing-header: é",
  "x-anthropic-billing-",
  "x-anthropic-billing-header:",
];
export const NUMBERS = [
  "0",
  "1",
  "16",
  "2048",
  "-1",
  "1.5",
  "1e400",
  "1E+2",
  "-0",
  "4294967297",
  "3e3",
  "0.5",
];
export const LIMITS = [
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "max_new_tokens",
  "n_predict",
  "n",
  "best_of",
];
export const NAMES = [
  "user",
  "cache_salt",
  "lora",
  "adapter_id",
  "previous_response_id",
  "prompt_cache_key",
  "session_id",
];
export const USER_IDS = [
  "user_1_account_2_session_s-1",
  "user_1_account__session_s-2",
  "user_1",
  "{",
  "",
  '{"device":1,"session_id":"s-1"}',
  '{"session_id":"s-1","session_id":5}',
];
