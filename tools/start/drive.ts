import { Agent, request as httpRequest } from "node:http";
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
        const { outcome, text } = await ask(target, agent, history, maxTokens, startMs, stop);
        progress.inFlight--;
        if (stop.aborted) return;
        progress.outcomes.push({ ...outcome, turn: i + 1 });
        history.push({ role: "assistant", content: text });
      }
    }),
  );
  agent.destroy();
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (ms <= 0 || stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    stop.addEventListener("abort", done);
    function done(): void {
      clearTimeout(timer);
      stop.removeEventListener("abort", done);
      resolve();
    }
  });
}

/** One streamed chat completion. Never fails: what went wrong is in the outcome. */
function ask(
  target: Target,
  agent: Agent,
  messages: Message[],
  maxTokens: number,
  startMs: number,
  stop: AbortSignal,
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
  const body = JSON.stringify({
    model: "test-model",
    messages,
    max_tokens: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
  });
  return new Promise((resolve) => {
    let text = "";
    const end = () => {
      outcome.totalMs = performance.now() - started;
      resolve({ outcome, text });
    };
    const request = httpRequest({
      ...target,
      path: "/v1/chat/completions",
      method: "POST",
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      agent,
      signal: stop,
    });
    request.on("error", end);
    request.on("response", (response) => {
      outcome.server = String(response.headers["x-served-by"] ?? "");
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        rest += chunk;
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) text += readEvent(line, outcome, started);
      });
      response.on("error", end);
      response.on("end", () => {
        outcome.ok = response.statusCode === 200 && !Number.isNaN(outcome.ttftMs);
        end();
      });
    });
    request.end(body);
  });
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
