import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { post } from "./client.ts";

/** What became of one request. */
export interface Outcome {
  /** When it was sent and when it ended, in milliseconds since the traffic began. */
  sentMs: number;
  endedMs: number;
  /** 0: no answer's headers came. */
  status: number;
  /** The headers of a good answer came: from then on nobody can try again unseen. */
  began: boolean;
  /** The answer came to its end. */
  complete: boolean;
  /** Who served, as the debug header says. */
  host: string | undefined;
  /** The list that the filter set. */
  choice: string;
  /** What went wrong, for people. */
  error?: string;
}

export interface TrafficOptions {
  /** Clients, each with one conversation after another; 24 by default. */
  clients?: number;
  /** Tokens of each answer; 12 by default. */
  tokens?: number;
  /** Event streams (the default) or whole answers. */
  stream?: boolean;
  /** Pause of a client between two requests, in milliseconds; 4 by default. */
  pauseMs?: number;
  /** How long a client waits for the whole answer, in milliseconds; 60 s by default: tests don't judge how fast the machine is. */
  timeoutMs?: number;
  /** What each question is longer by, in characters. */
  padding?: number;
}

/** Turns of a conversation; then the client begins another. */
const TURNS = 4;

/** Clients that talk through a port until they are told to stop, or the test ends, and what became of each request. */
export class Traffic {
  readonly outcomes: Outcome[] = [];
  readonly #options: Required<TrafficOptions>;
  readonly #port: number;
  readonly #startedMs = performance.now();
  readonly #clients: Promise<void>[];
  #stopping = false;

  constructor(port: number, options: TrafficOptions = {}) {
    const base = { clients: 24, tokens: 12, stream: true, pauseMs: 4, timeoutMs: 60_000 };
    this.#options = { ...base, padding: 0, ...options };
    this.#port = port;
    this.#clients = Array.from({ length: this.#options.clients }, (_, i) => this.#talk(i));
    after(() => this.stop());
  }

  /** Milliseconds since it began. */
  now(): number {
    return performance.now() - this.#startedMs;
  }

  /** Requests that failed though nothing of an answer had come: what must not happen. */
  lost(): Outcome[] {
    return this.outcomes.filter(({ began, complete, status }) =>
      complete ? status !== 200 : !began,
    );
  }

  /** Answers that broke off on the way: nobody can mend those. */
  broken(): Outcome[] {
    return this.outcomes.filter(({ began, complete }) => began && !complete);
  }

  /** Requests that were sent after a moment, oldest first. */
  since(ms: number): Outcome[] {
    return this.outcomes.filter(({ sentMs }) => sentMs >= ms).sort((a, b) => a.sentMs - b.sentMs);
  }

  /** No client asks again; resolves when all answers are there. */
  async stop(): Promise<this> {
    this.#stopping = true;
    await Promise.all(this.#clients);
    return this;
  }

  async #talk(client: number): Promise<void> {
    const { stream, tokens, pauseMs, padding } = this.#options;
    for (let turn = 0; !this.#stopping; turn++) {
      const conversation = `${client}.${Math.floor(turn / TURNS)}`;
      const messages = Array.from({ length: (turn % TURNS) * 2 + 1 }, (_, i) => ({
        role: i % 2 === 0 ? "user" : "assistant",
        content: `${conversation}, part ${i}: the tide tables. ${"of all harbours ".repeat(padding / 16)}`,
      }));
      await this.#ask({ model: "test-model", messages, max_tokens: tokens, stream });
      await sleep(pauseMs);
    }
  }

  async #ask(body: object): Promise<void> {
    const outcome: Outcome = {
      sentMs: this.now(),
      endedMs: Number.NaN,
      status: 0,
      began: false,
      complete: false,
      host: undefined,
      choice: "",
    };
    try {
      const { status, body: answer } = await post(this.#port, body, {
        timeoutMs: this.#options.timeoutMs,
        onHeaders: (headers, status) => {
          outcome.status = status;
          outcome.began = status === 200;
          outcome.host = headers["x-warmroute-host"] as string | undefined;
          outcome.choice = String(headers["x-warmroute-choice"] ?? "");
        },
      });
      outcome.complete = true;
      if (status !== 200) outcome.error = `${status} ${answer.toString().slice(0, 120)}`;
    } catch (error) {
      outcome.error = (error as Error).message;
    }
    outcome.endedMs = this.now();
    this.outcomes.push(outcome);
  }
}

/** Outcomes in few words, for messages: how many of each kind of error. */
export function errorsOf(outcomes: readonly Outcome[]): string {
  const counts = new Map<string, number>();
  for (const { error = "none" } of outcomes) counts.set(error, (counts.get(error) ?? 0) + 1);
  return [...counts].map(([error, count]) => `${count} × ${error}`).join("; ");
}
