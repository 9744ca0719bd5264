import { BLOCK_TOKENS } from "../../llm/runs.ts";
import type { Message, Role, WorkRequest } from "../workload.ts";

/**
 * The messages of a prompt that goes on from an earlier one: the earlier messages up to the shared end, then the answer, then
 * what was said or found next. In the same roles, since an engine caches what chat templates make of messages.
 */
export function grownMessages(
  from: WorkRequest,
  sharedBlocks: number,
  blocks: number,
  next: Role,
): Message[] {
  const parts: Message[] = [];
  let at = 0;
  for (const message of from.messages) {
    if (at >= sharedBlocks) break;
    const left = sharedBlocks - at;
    parts.push(message.blocks <= left ? message : { ...message, blocks: left });
    at += message.blocks;
  }
  const added = blocks - sharedBlocks;
  const answerBlocks = Math.round(from.outputTokens / BLOCK_TOKENS);
  const answer = Math.max(0, Math.min(answerBlocks, added - 1));
  if (answer > 0) parts.push({ role: "assistant", blocks: answer });
  if (added - answer > 0) parts.push({ role: next, blocks: added - answer });
  return parts;
}
