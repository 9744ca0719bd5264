import { equalsText, Text, text } from "../bytes";

/** A number in an answer that is kept. */
export const enum Field {
  None,
  /** Prompt tokens, cached ones included. */
  Prompt,
  /** Prompt tokens; cached ones are included unless they are given beside it. */
  Input,
  Completion,
  Cached,
  /** Anthropic: read from the cache, not part of the input tokens. */
  CacheRead,
  /** Anthropic: written to the cache, not part of the input tokens. */
  CacheCreation,
  /** llama.cpp: prompt tokens that had to be processed. */
  Processed,
  /** llama.cpp: tokens predicted, by its clock. */
  Predicted,
  /** llama.cpp: prompt tokens that were there already. */
  Reused,
}

export const FIELDS: i32 = 10;

/** Objects in which something is looked for. */
export const enum Place {
  None,
  /** The answer, or an event. */
  Root,
  /** Inside `response` (Responses) or `message` (Anthropic) of an event. */
  Inner,
  Usage,
  /** `prompt_tokens_details`, `input_tokens_details`. */
  UsageDetails,
  /** SGLang. */
  MetaInfo,
  /** TGI. */
  Details,
  /** TGI: one item per prompt token. */
  Prefill,
  /** llama.cpp. */
  Timings,
  /** `error` of the answer, or of what is inside. */
  Error,
}
const PLACES: i32 = 10;

/** A key, where it counts, and what it leads to. */
export class Key {
  constructor(
    public place: Place,
    public name: Text,
    public to: Place,
    public field: Field,
  ) {}
}

/** Those of one place stand together, in the order of places: `findKey` counts on it. */
export const KEYS: StaticArray<Key> = [
  new Key(Place.Root, text("usage"), Place.Usage, Field.None),
  new Key(Place.Root, text("response"), Place.Inner, Field.None),
  new Key(Place.Root, text("message"), Place.Inner, Field.None),
  new Key(Place.Root, text("meta_info"), Place.MetaInfo, Field.None),
  new Key(Place.Root, text("details"), Place.Details, Field.None),
  new Key(Place.Root, text("timings"), Place.Timings, Field.None),
  new Key(Place.Root, text("tokens_evaluated"), Place.None, Field.Prompt),
  new Key(Place.Root, text("tokens_predicted"), Place.None, Field.Completion),
  new Key(Place.Inner, text("usage"), Place.Usage, Field.None),
  new Key(Place.Usage, text("prompt_tokens"), Place.None, Field.Prompt),
  new Key(Place.Usage, text("completion_tokens"), Place.None, Field.Completion),
  new Key(Place.Usage, text("input_tokens"), Place.None, Field.Input),
  new Key(Place.Usage, text("output_tokens"), Place.None, Field.Completion),
  new Key(Place.Usage, text("prompt_tokens_details"), Place.UsageDetails, Field.None),
  new Key(Place.Usage, text("input_tokens_details"), Place.UsageDetails, Field.None),
  new Key(Place.Usage, text("cached_tokens"), Place.None, Field.Cached),
  new Key(Place.Usage, text("prompt_cache_hit_tokens"), Place.None, Field.Cached),
  new Key(Place.Usage, text("cache_read_input_tokens"), Place.None, Field.CacheRead),
  new Key(Place.Usage, text("cache_creation_input_tokens"), Place.None, Field.CacheCreation),
  new Key(Place.UsageDetails, text("cached_tokens"), Place.None, Field.Cached),
  new Key(Place.MetaInfo, text("prompt_tokens"), Place.None, Field.Prompt),
  new Key(Place.MetaInfo, text("completion_tokens"), Place.None, Field.Completion),
  new Key(Place.MetaInfo, text("cached_tokens"), Place.None, Field.Cached),
  new Key(Place.Details, text("input_length"), Place.None, Field.Prompt),
  new Key(Place.Details, text("generated_tokens"), Place.None, Field.Completion),
  new Key(Place.Details, text("prefill"), Place.Prefill, Field.None),
  new Key(Place.Timings, text("prompt_n"), Place.None, Field.Processed),
  new Key(Place.Timings, text("predicted_n"), Place.None, Field.Predicted),
  new Key(Place.Timings, text("cache_n"), Place.None, Field.Reused),
];

/** By place: its first key. The next place's is behind its last. */
const FIRST_KEYS: StaticArray<i32> = firstKeys();

function firstKeys(): StaticArray<i32> {
  const first = new StaticArray<i32>(PLACES + 1);
  for (let place = 0; place <= PLACES; place++) {
    let at = 0;
    while (at < KEYS.length && KEYS[at].place < place) at++;
    first[place] = at;
  }
  return first;
}

/** Number of the key of this name that counts in this place, −1 for none. */
export function findKey(place: Place, ptr: usize, len: i32): i32 {
  const end = unchecked(FIRST_KEYS[place + 1]);
  for (let i = unchecked(FIRST_KEYS[place]); i < end; i++) {
    if (equalsText(ptr, len, unchecked(KEYS[i]).name)) return i;
  }
  return -1;
}
