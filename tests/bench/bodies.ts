import { random } from "../../tools/seeded.ts";
import { prose } from "./prose.ts";

/** What is replaced by a counter in each request, so that every prompt is new at its end. */
export const COUNTER = "00000000";

/** Bytes of the system prompt that all conversations of a body size share, at most. */
const SYSTEM_BYTES = 8000;

/** Room left at the end, so that a body is seldom larger than what was asked for. */
const SPARE_BYTES = 200;

/**
 * Chat bodies of `bytes` bytes, one per conversation: a shared system prompt, turns of ordinary
 * English, and a last user message that ends in `COUNTER`.
 */
export function chatBodies(count: number, bytes: number, seed: number, stream: boolean): string[] {
  const shared = prose(random(seed), Math.min(SYSTEM_BYTES, bytes / 4));
  return Array.from({ length: count }, (_unused, i) => {
    const rand = random(seed + 1 + i);
    const messages = [{ role: "system", content: shared }];
    const last = { role: "user", content: `And the next step? ${COUNTER}` };
    const make = () =>
      JSON.stringify({
        model: "bench-8b",
        messages: [...messages, last],
        max_tokens: 64,
        stream,
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      });
    let room = bytes - Buffer.byteLength(make()) - SPARE_BYTES;
    while (room > 0) {
      const role = messages.length % 2 === 1 ? "user" : "assistant";
      const length = Math.min(room, (role === "user" ? 400 : 1600) * (0.5 + rand()));
      const message = { role, content: prose(rand, length) };
      messages.push(message);
      room -= Buffer.byteLength(JSON.stringify(message)) + 1;
    }
    return make();
  });
}

/** Reads `1k`, `256k`, `2m` or plain bytes. */
export function parseSize(spelled: string): number {
  const match = /^(\d+)([km]?)$/i.exec(spelled.trim());
  if (match === null) throw new Error(`expected a size such as 32k, got "${spelled}"`);
  const unit = { "": 1, k: 1024, m: 1024 * 1024 }[(match[2] ?? "").toLowerCase()] ?? 1;
  return Number(match[1]) * unit;
}
