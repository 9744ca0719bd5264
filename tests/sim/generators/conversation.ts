import { appendRun, BLOCK_TOKENS } from "../../llm/runs.ts";
import type { Random } from "../random.ts";
import type { Message, Role, WorkloadBuilder, WorkRequest } from "../workload.ts";

/** Whether a session's next turn waits for the answer before (closed) or comes by the clock. */
export type Loop = "open" | "closed";

/** What every generator takes. */
export interface GeneratorOptions {
  seed: number;
  requests: number;
  loop: Loop;
}

/** Whole blocks for about `tokens` tokens, one at least. */
function blocksFor(tokens: number): number {
  return Math.max(1, Math.round(tokens / BLOCK_TOKENS));
}

/** What an answer takes in the open loop, where nobody waits for the real one. */
const NOMINAL_MS_PER_TOKEN = 15;
const NOMINAL_TTFT_MS = 500;

/** A text that several conversations begin with: tools and system prompt. */
export interface SharedStart {
  runs: readonly number[];
  messages: readonly Message[];
}

/** A start of new text in the given roles, one block id run. */
export function newStart(builder: WorkloadBuilder, parts: readonly [Role, number][]): SharedStart {
  const runs: number[] = [];
  const messages: Message[] = [];
  for (const [role, tokens] of parts) {
    const blocks = blocksFor(tokens);
    appendRun(runs, builder.newBlocks(blocks), blocks);
    messages.push({ role, blocks });
  }
  return { runs, messages };
}

/** A growing chat: each turn's prompt is all of it so far, and holds the earlier answers. */
export class Conversation {
  private readonly builder: WorkloadBuilder;
  private readonly loop: Loop;
  private readonly session: string;
  private readonly tenant: string;
  private readonly kind: string | undefined;
  private readonly runs: number[];
  private readonly messages: Message[];
  private blocks: number;
  private last: WorkRequest | undefined;

  constructor(
    builder: WorkloadBuilder,
    start: SharedStart,
    names: { session: string; tenant: string; loop: Loop; kind?: string },
  ) {
    this.builder = builder;
    this.loop = names.loop;
    this.session = names.session;
    this.tenant = names.tenant;
    this.kind = names.kind;
    this.runs = [...start.runs];
    this.messages = [...start.messages];
    this.blocks = start.messages.reduce((sum, message) => sum + message.blocks, 0);
  }

  /** Adds text to the prompt. */
  say(role: Role, tokens: number): void {
    const blocks = blocksFor(tokens);
    this.extend(role, this.builder.newBlocks(blocks), blocks);
  }

  /** Sends what was said so far. `waitMs` is the arrival of a first turn, else the think time. */
  ask(waitMs: number, outputTokens: number): WorkRequest {
    const answerBlocks = blocksFor(outputTokens);
    const outputBlock = this.builder.newBlocks(answerBlocks);
    const { last } = this;
    let atMs = waitMs;
    let after = -1;
    if (last !== undefined) {
      after = this.loop === "closed" ? last.id : -1;
      if (after < 0) {
        atMs += last.atMs + NOMINAL_TTFT_MS + last.outputTokens * NOMINAL_MS_PER_TOKEN;
      }
    }
    this.last = this.builder.add({
      session: this.session,
      tenant: this.tenant,
      atMs,
      after,
      promptTokens: this.blocks * BLOCK_TOKENS,
      blocks: [...this.runs],
      messages: [...this.messages],
      outputTokens: Math.max(1, Math.round(outputTokens)),
      outputBlock,
      ...(this.kind === undefined ? {} : { kind: this.kind }),
    });
    this.extend("assistant", outputBlock, answerBlocks);
    return this.last;
  }

  private extend(role: Role, first: number, blocks: number): void {
    appendRun(this.runs, first, blocks);
    this.messages.push({ role, blocks });
    this.blocks += blocks;
  }
}

/** Arrivals of a Poisson process. */
export function poissonStarts(random: Random, perSecond: number): () => number {
  let atMs = 0;
  return () => {
    atMs += random.exponential(1000 / perSecond);
    return atMs;
  };
}
