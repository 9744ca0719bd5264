import {
  Agent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Conversation } from "./traffic.ts";

/** One answered, or failed, request. */
export interface Outcome {
  /** Of its conversation, from 1. */
  turn: number;
  /** Since the traffic's start, in milliseconds. */
  startedMs: number;
  /** To the first token; NaN when there was none. */
  ttftMs: number;
  totalMs: number;
  ok: boolean;
  /** `ip:port` of the server that answered; empty when none did. */
  server: string;
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
}

/** Where requests go. */
export interface Target {
  host: string;
  port: number;
}

/** How requests of one run get there. */
interface Way {
  target: Target;
  agent: Agent;
  startMs: number;
  stop: AbortSignal;
}

/** What a fleet's traffic has come to so far. */
export interface Progress {
  outcomes: Outcome[];
  inFlight: number;
}

interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

/**
 * Asks all turns of the conversations, each with the history of the ones before it, at its planned
 * time or as soon as the turn before it has been answered.
 * @param targets one gateway, or several that a conversation's turns go to one after the other
 */
export async function drive(
  targets: Target[],
  conversations: Conversation[],
  progress: Progress,
  startMs: number,
  stop: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4096 });
  await Promise.all(
    conversations.map(async ({ system, turns }, first) => {
      const history: Message[] = [{ role: "system", content: system }];
      for (const [i, { atMs, user, maxTokens }] of turns.entries()) {
        await pause(startMs + atMs - performance.now(), stop);
        if (stop.aborted) return;
        history.push({ role: "user", content: user });
        progress.inFlight++;
        const target = targets[(first + i) % targets.length] as Target;
        const way = { target, agent, startMs, stop };
        const { outcome, text } = await ask(way, history, maxTokens);
        progress.inFlight--;
        if (stop.aborted) return;
        progress.outcomes.push({ ...outcome, turn: i + 1 });
        history.push({ role: "assistant", content: text });
      }
    }),
  );
  agent.destroy();
}

/** Waits, or until `stop`. */
async function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal: stop }).catch(() => {});
}

/** One streamed chat completion. Never fails: what went wrong is in the outcome. */
async function ask(
  { target, agent, startMs, stop }: Way,
  messages: Message[],
  maxTokens: number,
): Promise<{ outcome: Outcome; text: string }> {
  const started = performance.now();
  const outcome: Outcome = {
    turn: 0,
    startedMs: started - startMs,
    ttftMs: Number.NaN,
    totalMs: 0,
    ok: false,
    server: "",
    promptTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
  };
  const body = {
    model: "test-model",
    messages,
    max_tokens: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
  };
  let text = "";
  try {
    const response = await post(JSON.stringify(body), { ...target, agent, signal: stop });
    outcome.server = String(response.headers["x-served-by"] ?? "");
    for await (const line of linesOf(response)) text += readEvent(line, outcome, started);
    outcome.ok = response.statusCode === 200 && !Number.isNaN(outcome.ttftMs);
  } catch {
    // Refused, cut off or stopped: `ok` stays false.
  }
  outcome.totalMs = performance.now() - started;
  return { outcome, text };
}

/** Resolves to the answer as soon as its headers are there. */
function post(body: string, to: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    httpRequest({ ...to, path: "/v1/chat/completions", method: "POST", headers })
      .on("response", resolve)
      .on("error", reject)
      .end(body);
  });
}

/** Whole lines, each as soon as it is there. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  response.setEncoding("utf8");
  for await (const chunk of response as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** Takes in one line of the event stream; returns the text it adds to the answer. */
function readEvent(line: string, outcome: Outcome, started: number): string {
  if (!line.startsWith("data: {")) return "";
  const event = JSON.parse(line.slice("data: ".length)) as {
    choices?: { delta?: { content?: string } }[];
    usage?: {
      prompt_tokens: number;
      completion_tokens: number;
      prompt_tokens_details?: { cached_tokens?: number };
    } | null;
  };
  if (event.usage) {
    outcome.promptTokens = event.usage.prompt_tokens;
    outcome.outputTokens = event.usage.completion_tokens;
    outcome.cachedTokens = event.usage.prompt_tokens_details?.cached_tokens ?? 0;
  }
  const content = event.choices?.[0]?.delta?.content ?? "";
  if (content !== "" && Number.isNaN(outcome.ttftMs)) {
    outcome.ttftMs = performance.now() - started;
  }
  return content;
}
