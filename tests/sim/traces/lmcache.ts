import { appendRun, BLOCK_TOKENS, takeBlocks } from "../../llm/runs.ts";
import { TOKEN_BYTES } from "../../llm/tokens.ts";
import { Random } from "../random.ts";
import { type Message, type Workload, WorkloadBuilder, type WorkRequest } from "../workload.ts";
import { grownMessages } from "./grown.ts";

interface Session {
  session: string;
  requests: {
    t: number;
    in_bytes: number;
    out_bytes: number;
    from: number;
    shared_bytes: number;
  }[];
}

const SESSIONS_PER_SECOND = 0.5;
const BLOCK_BYTES = BLOCK_TOKENS * TOKEN_BYTES;

/** Agent sessions in bytes, 4 a token; sessions start by a seeded Poisson process. */
export function readLmcache(name: string, sessions: readonly Session[], seed: number): Workload {
  const random = new Random(seed, "sessions");
  const builder = new WorkloadBuilder();
  let startMs = 0;
  for (const session of sessions) {
    startMs += random.exponential(1000 / SESSIONS_PER_SECOND);
    const added: WorkRequest[] = [];
    for (const row of session.requests) {
      const promptTokens = Math.max(1, Math.ceil(row.in_bytes / TOKEN_BYTES));
      const full = Math.floor(promptTokens / BLOCK_TOKENS);
      const from = added[row.from];
      const shared =
        from === undefined ? 0 : Math.min(full, Math.floor(row.shared_bytes / BLOCK_BYTES));
      const blocks = from === undefined ? [] : takeBlocks(from.blocks, shared);
      appendRun(blocks, builder.newBlocks(full - shared), full - shared);
      const messages: Message[] =
        from === undefined || shared === 0
          ? [{ role: "user", blocks: Math.max(1, full) }]
          : grownMessages(from, shared, full, "user");
      added.push(
        builder.add({
          session: session.session,
          tenant: "t0",
          atMs: startMs + row.t,
          after: -1,
          promptTokens,
          blocks,
          messages,
          outputTokens: Math.max(1, Math.ceil(row.out_bytes / TOKEN_BYTES)),
        }),
      );
    }
  }
  return builder.done(name);
}
