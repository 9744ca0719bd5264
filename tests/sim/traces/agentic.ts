import { appendRun, BLOCK_TOKENS, takeBlocks } from "../../llm/runs.ts";
import { Random } from "../random.ts";
import { type Message, type Workload, WorkloadBuilder, type WorkRequest } from "../workload.ts";
import { grownMessages } from "./grown.ts";

interface Session {
  session: string;
  block: number;
  tools: number;
  system: number;
  requests: {
    in: number;
    out: number;
    blocks: number;
    from: number;
    shared: number;
    /** Missing where it is not known. */
    think?: number;
  }[];
}

/** Longer pauses, up to days, only add idle time. */
const MAX_THINK_MS = 300_000;

/** Session starts per second at rate 1: a session lasts some minutes to hours. */
const SESSIONS_PER_SECOND = 0.1;

/**
 * Coding-agent sessions, replayed in a closed loop: a request comes `think` after the end of the
 * one before; sessions start by a seeded Poisson process. Ids are rebuilt as the trace's notes say:
 * the shared ones of the earlier request, then new ones. Where more requests are asked for than
 * there are, the sessions come again with other text.
 */
export function readAgentic(
  name: string,
  sessions: readonly Session[],
  options: { seed: number; requests: number },
): Workload {
  const random = new Random(options.seed, "sessions");
  const builder = new WorkloadBuilder();
  let startMs = 0;
  let copy = 0;
  do {
    for (const session of sessions) {
      startMs += random.exponential(1000 / SESSIONS_PER_SECOND);
      addSession(builder, { ...session, session: `${session.session}.${copy}` }, startMs);
    }
    copy += 1;
  } while (builder.requests.length < options.requests);
  return builder.done(name);
}

function addSession(builder: WorkloadBuilder, session: Session, startMs: number): void {
  const split = session.block / BLOCK_TOKENS;
  const added: WorkRequest[] = [];
  for (const row of session.requests) {
    const from = added[row.from];
    const sharedBlocks = from === undefined ? 0 : row.shared * split;
    // A prompt's last, incomplete block has no id: without it the next turn begins with exactly this one, as in life.
    const full = Math.max(1, Math.floor(row.in / session.block)) * split;
    const blocks = from === undefined ? [] : takeBlocks(from.blocks, sharedBlocks);
    appendRun(blocks, builder.newBlocks(full - sharedBlocks), full - sharedBlocks);
    const messages =
      from === undefined
        ? firstMessages(session, full)
        : grownMessages(from, sharedBlocks, full, "tool");
    const last = added.at(-1);
    added.push(
      builder.add({
        session: session.session,
        tenant: "t0",
        atMs: last === undefined ? startMs : Math.min(MAX_THINK_MS, row.think ?? 0),
        after: last?.id ?? -1,
        promptTokens: full * BLOCK_TOKENS,
        blocks,
        messages,
        outputTokens: Math.max(1, row.out),
      }),
    );
  }
}

function firstMessages(session: Session, blocks: number): Message[] {
  const tools = Math.min(Math.round(session.tools / BLOCK_TOKENS), blocks - 1);
  const system = Math.min(Math.round(session.system / BLOCK_TOKENS), blocks - 1 - tools);
  const parts: Message[] = [
    { role: "tools", blocks: tools },
    { role: "system", blocks: system },
    { role: "user", blocks: blocks - tools - system },
  ];
  return parts.filter((part) => part.blocks > 0);
}
