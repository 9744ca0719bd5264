import assert from "node:assert/strict";
import { encode, Readers, type Usage } from "./metrics.readers.ts";

/** Usage that an answer is to give; what is left out is unknown. */
export type Expected = Partial<Omit<Usage, "id">> & { id?: string };

/** Text that looks like usage and isn't. */
export const DECOY =
  'usage"\\ "usage":{"prompt_tokens":999} \\"usage\\":{} {"usage":{"prompt_tokens":998}}';
/** Usage as OpenAI and vLLM report it. */
export const usage = {
  prompt_tokens: 120,
  total_tokens: 150,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 96 },
};

let readers: Readers | undefined;

/** Compiles the readers; before the first `check`. */
export async function startReaders(): Promise<void> {
  readers ??= await Readers.start();
}

/** Reads an answer whole, cut at every byte and byte by byte. */
export function check(answer: string, isEventStream: boolean, expected: Expected): void {
  assert.ok(readers, "startReaders comes first");
  const { id } = expected;
  const want: Usage = {
    prompt: -1,
    completion: -1,
    cached: -1,
    events: 0,
    done: false,
    ...expected,
    id: id === undefined ? 0n : readers.hash(id),
  };
  const bytes = encode(answer);
  assert.deepEqual(readers.usage(bytes, [], isEventStream), want, answer.slice(0, 200));
  const step = bytes.length > 3000 ? 97 : 1;
  for (let cut = 0; cut <= bytes.length; cut += step) {
    assert.deepEqual(
      readers.usage(bytes, [cut], isEventStream),
      want,
      `${answer.slice(0, 200)} at ${cut}`,
    );
  }
  if (bytes.length > 100_000) return;
  const bytewise = Array.from({ length: Math.max(bytes.length - 1, 0) }, (_, i) => i + 1);
  assert.deepEqual(readers.usage(bytes, bytewise, isEventStream), want, "byte by byte");
}
