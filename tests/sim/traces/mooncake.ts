import { appendRun, BLOCK_TOKENS } from "../../llm/runs.ts";
import { type Message, type Workload, WorkloadBuilder } from "../workload.ts";

interface Row {
  timestamp: number;
  input_length: number;
  output_length: number;
  hash_ids: number[];
}

/** 16-token blocks in one of the trace's. */
const SPLIT = 512 / BLOCK_TOKENS;

/** Times of the trace come in steps of this; requests are spread evenly inside. */
const STEP_MS = 3000;

/**
 * Mooncake: one id per 512 tokens. The trace has no message ends, so they are put where requests
 * that share a start part ways, which is where chats do; the block that all begin with is the
 * system prompt. No session is recorded: the first two blocks stand for it.
 */
export function readMooncake(name: string, rows: readonly Row[]): Workload {
  const builder = new WorkloadBuilder();
  const ends = messageEnds(rows);
  for (const [index, row] of rows.entries()) {
    const blocks: number[] = [];
    const full = Math.floor(row.input_length / BLOCK_TOKENS);
    for (const [at, id] of row.hash_ids.entries()) {
      appendRun(blocks, id * SPLIT, Math.min(SPLIT, full - at * SPLIT));
    }
    const session = row.hash_ids.slice(0, 2).join("-");
    builder.add({
      session,
      tenant: "t0",
      atMs: spread(rows, index),
      after: -1,
      promptTokens: row.input_length,
      blocks,
      messages: messages(row, ends),
      outputTokens: row.output_length,
    });
  }
  return builder.done(name);
}

/** Ids after which requests differ, or one ends and another goes on. */
function messageEnds(rows: readonly Row[]): Set<number> {
  const next = new Map<number, number>();
  const ends = new Set<number>();
  for (const { hash_ids: ids } of rows) {
    for (const [at, id] of ids.entries()) {
      const following = ids[at + 1] ?? -1;
      const known = next.get(id);
      if (known === undefined) next.set(id, following);
      else if (known !== following) ends.add(id);
    }
  }
  return ends;
}

function messages(row: Row, ends: ReadonlySet<number>): Message[] {
  const parts: Message[] = [];
  let blocks = 0;
  for (const [at, id] of row.hash_ids.entries()) {
    blocks += SPLIT;
    if (at === 0 || ends.has(id) || at === row.hash_ids.length - 1) {
      const turn = parts.length % 2 === 1 ? "user" : "assistant";
      parts.push({ role: parts.length === 0 ? "system" : turn, blocks });
      blocks = 0;
    }
  }
  return parts;
}

/** Times inside a step follow each other evenly. */
function spread(rows: readonly Row[], index: number): number {
  const { timestamp } = rows[index] as Row;
  let first = index;
  while (first > 0 && rows[first - 1]?.timestamp === timestamp) first -= 1;
  let end = index;
  while (end < rows.length && rows[end]?.timestamp === timestamp) end += 1;
  return timestamp + (STEP_MS * (index - first)) / (end - first);
}
