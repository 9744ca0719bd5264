import type { IncomingMessage, ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { type Answer, answerId, answerToken, type Usage, wholeAnswer } from "./answers.ts";
import type { EngineDriver } from "./driver.ts";
import type { Fault } from "./faults.ts";
import type { Sequence } from "./model.ts";
import { type Api, BadRequest, type Prompt, readPrompt } from "./prompt.ts";
import { BLOCK_TOKENS } from "./runs.ts";
import type { LlmServerOptions, ServerStats } from "./server.ts";
import { type AnswerStream, answerStream } from "./stream.ts";
import { BlockNames, mix, TokenList } from "./tokens.ts";

/** Answers remembered for `previous_response_id`. */
const MAX_STORED = 2000;

/** Seconds of a stopped clock, so that answers repeat byte for byte. */
const CREATED_SECONDS = 1_760_000_000;

/** Turns inference requests into engine requests and the engine's tokens into answers. */
export class Inference {
  private readonly driver: EngineDriver;
  private readonly options: LlmServerOptions;
  private readonly stats: ServerStats;
  private readonly names = new BlockNames();
  private readonly stored = new Map<string, TokenList>();
  private serial = 0;

  constructor(driver: EngineDriver, options: LlmServerOptions, stats: ServerStats) {
    this.driver = driver;
    this.options = options;
    this.stats = stats;
  }

  /** Whether an answer with this id is kept. */
  has(id: string): boolean {
    return this.stored.has(id);
  }

  /** The process dies, and what it kept with it. */
  forget(): void {
    this.stored.clear();
  }

  serve(
    api: Api,
    body: Buffer,
    request: IncomingMessage,
    response: ServerResponse,
    fault: Fault | undefined,
  ): void {
    let prompt: Prompt;
    try {
      prompt = readPrompt(api, parse(body, request), (id) => this.stored.get(id));
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      refuse(response, error.message);
      return;
    }
    const { tokens } = prompt;
    const seed = digest(tokens, prompt.seed);
    const asked = Number(request.headers["x-test-output-tokens"]);
    const outputTokens =
      api === "embeddings" ? 0 : Math.min(prompt.maxTokens, asked > 0 ? asked : ownLength(seed));
    this.serial += 1;
    const id = answerId(
      api,
      `${this.options.port || "any"}${(seed >>> 0).toString(16)}${this.serial}`,
    );
    const answer: Answer = { id, prompt, created: CREATED_SECONDS, seed, outputTokens };
    // Prompt and answer in one list: the answer's blocks get the names a later turn will ask for.
    const all = new TokenList();
    all.pushList(tokens);
    for (let i = 0; i < outputTokens; i += 1) all.pushText(answerToken(seed, i));
    const blocks = this.names.name(tokens, prompt.seed);
    const full = Math.floor(tokens.length / BLOCK_TOKENS);
    const outputBlock = firstOf(this.names.name(all, prompt.seed), full);
    if (api === "responses") this.store(id, all);
    response.setHeader("x-test-prompt-tokens", tokens.length);
    const exchange = new Exchange(answer, response, this.options, this.stats, fault);
    const sequence = this.driver.submit(
      {
        promptTokens: tokens.length,
        blocks,
        outputTokens,
        ...(outputBlock === undefined ? {} : { outputBlock }),
      },
      exchange,
    );
    response.on("close", () => {
      if (exchange.open) {
        this.stats.aborted += 1;
        this.driver.cancel(sequence);
      }
    });
  }

  private store(id: string, tokens: TokenList): void {
    this.stored.set(id, tokens);
    if (this.stored.size > MAX_STORED) {
      this.stored.delete(this.stored.keys().next().value as string);
    }
  }
}

/** One request's answer on its way out. */
class Exchange {
  open = true;
  private readonly answer: Answer;
  private readonly response: ServerResponse;
  private readonly stats: ServerStats;
  private readonly chunkTokens: number;
  private readonly resetAfterTokens: number;
  private readonly stream: AnswerStream | null;
  private sentTokens = 0;

  constructor(
    answer: Answer,
    response: ServerResponse,
    options: LlmServerOptions,
    stats: ServerStats,
    fault: Fault | undefined,
  ) {
    this.answer = answer;
    this.response = response;
    this.stats = stats;
    this.chunkTokens = options.chunkTokens;
    this.resetAfterTokens =
      fault?.kind === "reset_mid_stream" ? fault.afterTokens : Number.POSITIVE_INFINITY;
    this.stream = answer.prompt.stream ? answerStream(answer) : null;
    if (this.stream !== null && options.headersAt === "accept") this.sendHeaders();
  }

  onToken(sequence: Sequence): void {
    const { stream, response } = this;
    if (!this.open) return;
    if (sequence.generatedTokens >= this.resetAfterTokens) {
      this.open = false;
      response.destroy();
      return;
    }
    if (stream === null) return;
    let text = "";
    if (sequence.generatedTokens === 1) {
      if (!response.headersSent) this.sendHeaders();
      text = stream.begin(this.usage(sequence));
    } else if (sequence.generatedTokens - this.sentTokens < this.chunkTokens) {
      return;
    }
    text += stream.tokens(this.sentTokens, sequence.generatedTokens);
    this.sentTokens = sequence.generatedTokens;
    response.write(text);
  }

  onFinish(sequence: Sequence): void {
    if (!this.open) return;
    this.open = false;
    const { stream, response, stats } = this;
    const usage = this.usage(sequence);
    stats.answered += 1;
    stats.promptTokens += usage.promptTokens;
    stats.cachedTokens += usage.cachedTokens;
    stats.outputTokens += usage.completionTokens;
    if (stream === null) {
      response.setHeader("content-type", "application/json");
      const text = JSON.stringify(wholeAnswer(this.answer, usage));
      response.setHeader("content-length", Buffer.byteLength(text));
      response.end(text);
      return;
    }
    let text = "";
    if (!response.headersSent) this.sendHeaders();
    if (this.sentTokens < sequence.generatedTokens) {
      text = stream.tokens(this.sentTokens, sequence.generatedTokens);
    }
    response.end(text + stream.end(usage));
  }

  onAbort(cause: "killed" | "too_long"): void {
    if (!this.open) return;
    this.open = false;
    this.stats.aborted += 1;
    if (cause === "too_long" && !this.response.headersSent) {
      refuse(this.response, "the prompt and its answer are longer than the model's context");
    } else {
      this.response.destroy();
    }
  }

  private sendHeaders(): void {
    this.response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
    });
    this.response.flushHeaders();
  }

  private usage(sequence: Sequence): Usage {
    return {
      promptTokens: sequence.request.promptTokens,
      cachedTokens: sequence.cachedTokens,
      completionTokens: sequence.generatedTokens * this.answer.prompt.choices,
    };
  }
}

function parse(body: Buffer, request: IncomingMessage): unknown {
  try {
    const plain = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    return JSON.parse(new TextDecoder().decode(plain));
  } catch {
    throw new BadRequest("the body is no valid JSON");
  }
}

function refuse(response: ServerResponse, message: string): void {
  const text = JSON.stringify({ error: { message, type: "invalid_request_error", code: 400 } });
  response.writeHead(400, { "content-type": "application/json" });
  response.end(text);
}

/** 32 bits of the whole prompt. */
function digest(tokens: TokenList, seed: number): number {
  let h = seed;
  for (let i = 0; i < tokens.length; i += 1)
    h = Math.imul(h ^ (tokens.values[i] as number), 0x01000193);
  return mix(h, tokens.length);
}

/** An answer's length where nobody sets one: 16 to 512 tokens, about 90 at the median. */
function ownLength(seed: number): number {
  return Math.floor(16 * 2 ** ((5 * (mix(seed, 77) >>> 0)) / 2 ** 32));
}

/** The id at position `block` of `runs`. */
function firstOf(runs: readonly number[], block: number): number | undefined {
  let left = block;
  for (let i = 0; i < runs.length; i += 2) {
    const count = runs[i + 1] as number;
    if (left < count) return (runs[i] as number) + left;
    left -= count;
  }
  return undefined;
}
