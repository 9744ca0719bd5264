import { BLOCK_TOKENS } from "../../llm/runs.ts";
import { type Workload, WorkloadBuilder } from "../workload.ts";

interface Row {
  timestamp: number;
  input_length: number;
  output_length: number;
  /** 16-token block ids as runs, where they were recorded. */
  hash_ranges?: [number, number][];
}

/** Times and lengths only (Azure), or with runs of 16-token block ids (ShareGPT on vLLM). */
export function readPlain(name: string, rows: readonly Row[]): Workload {
  const builder = new WorkloadBuilder();
  const recorded = rows.flatMap((row) => row.hash_ranges ?? []);
  builder.newBlocks(recorded.reduce((most, [first, count]) => Math.max(most, first + count), 0));
  for (const [index, row] of rows.entries()) {
    const full = Math.floor(row.input_length / BLOCK_TOKENS);
    const blocks = row.hash_ranges?.flat() ?? [builder.newBlocks(full), full];
    builder.add({
      session: `s${index}`,
      tenant: "t0",
      atMs: row.timestamp,
      after: -1,
      promptTokens: row.input_length,
      blocks,
      messages: [{ role: "user", blocks: Math.max(1, full) }],
      outputTokens: Math.max(1, row.output_length),
    });
  }
  return builder.done(name);
}
