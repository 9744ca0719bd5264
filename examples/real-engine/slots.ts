/** One sequence of the engine's KV cache and what it holds. */
export interface Slot {
  /** Tokens whose keys and values it holds, oldest first. */
  tokens: readonly number[];
  busy: boolean;
  /** Serial number of its last use; 0 when it never was. */
  used: number;
}

/** From this share of the prompt on, a slot's prefix is worth continuing: llama.cpp's `--slot-prompt-similarity`. */
const SIMILAR = 0.1;

/** How many tokens two sequences have in common at their beginning. */
function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const end = Math.min(a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

/**
 * The free slot for a prompt, as llama.cpp's server picks it: the one with most of the prompt at its
 * beginning, else the least recently used.
 */
export function pickSlot<T extends Slot>(
  slots: readonly T[],
  prompt: readonly number[],
): T | undefined {
  const free = slots.filter(({ busy }) => !busy);
  const shared = new Map(free.map((slot) => [slot, commonPrefix(slot.tokens, prompt)]));
  const best = free.toSorted((a, b) => (shared.get(b) ?? 0) - (shared.get(a) ?? 0))[0];
  if (best !== undefined && (shared.get(best) ?? 0) > SIMILAR * prompt.length) return best;
  return free.toSorted((a, b) => a.used - b.used)[0];
}
