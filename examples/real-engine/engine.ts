import { MODEL } from "./parts.ts";
import { pickSlot, type Slot } from "./slots.ts";

/** The part of node-llama-cpp that is used here, so that types hold where it isn't installed. */
interface LlamaModule {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<LlamaModel> }>;
}
interface LlamaModel {
  createContext(options: object): Promise<{ getSequence(): LlamaSequence }>;
  tokenize(text: string, specialTokens: boolean): number[];
  detokenize(tokens: number[], specialTokens: boolean, before: number[]): string;
  isEogToken(token: number): boolean;
}
interface LlamaSequence {
  readonly contextTokens: number[];
  readonly nextTokenIndex: number;
  adaptStateToTokens(tokens: number[], allowShift: boolean): Promise<void>;
  eraseContextTokenRanges(ranges: { start: number; end: number }[]): Promise<void>;
  evaluate(tokens: number[], options: object): AsyncIterable<number>;
}

export interface Message {
  role: string;
  content: string;
}

/** What became of a request. */
export interface Generated {
  promptTokens: number;
  /** Of those, found in the KV cache. */
  cachedTokens: number;
  outputTokens: number;
  /** Whether the model ended by itself. */
  ended: boolean;
}

/** Counters under the names of llama.cpp's server, without their prefix. */
export interface EngineCounters {
  prompt_tokens_total: number;
  prompt_seconds_total: number;
  tokens_predicted_total: number;
  tokens_predicted_seconds_total: number;
  requests_processing: number;
  requests_deferred: number;
}

/** A prompt with its answer is longer than a slot. */
export class TooLong extends Error {}

class SequenceSlot implements Slot {
  busy = false;
  used = 0;
  readonly sequence: LlamaSequence;

  constructor(sequence: LlamaSequence) {
    this.sequence = sequence;
  }

  get tokens(): readonly number[] {
    return this.sequence.contextTokens;
  }
}

/** A model with its KV cache: several slots, each of which keeps what it last computed. */
export class Engine {
  readonly counters: EngineCounters = {
    prompt_tokens_total: 0,
    prompt_seconds_total: 0,
    tokens_predicted_total: 0,
    tokens_predicted_seconds_total: 0,
    requests_processing: 0,
    requests_deferred: 0,
  };
  readonly #model: LlamaModel;
  readonly #slots: SequenceSlot[];
  readonly #slotTokens: number;
  readonly #waiting: (() => void)[] = [];
  #serial = 0;

  private constructor(model: LlamaModel, slots: SequenceSlot[], slotTokens: number) {
    this.#model = model;
    this.#slots = slots;
    this.#slotTokens = slotTokens;
  }

  /** Loads the model; one thread computes. */
  static async load(slots: number, slotTokens: number): Promise<Engine> {
    const name = "node-llama-cpp";
    const { getLlama } = (await import(name)) as LlamaModule;
    const llama = await getLlama({
      build: "never",
      gpu: false,
      maxThreads: 1,
      progressLogs: false,
      logLevel: "error",
    });
    const model = await llama.loadModel({ modelPath: MODEL });
    const context = await model.createContext({
      contextSize: slotTokens,
      sequences: slots,
      threads: 1,
      batchSize: 256,
    });
    const sequences = Array.from({ length: slots }, () => new SequenceSlot(context.getSequence()));
    return new Engine(model, sequences, slotTokens);
  }

  /**
   * Answers a conversation, greedily. Waits while all slots are busy, first come first served.
   * @param onText told of each piece of the answer
   * @throws {TooLong} before anything was computed
   */
  async chat(
    messages: Message[],
    maxTokens: number,
    onText: (text: string) => void,
    signal: AbortSignal,
  ): Promise<Generated> {
    const prompt = this.#model.tokenize(chatTemplate(messages), true);
    if (prompt.length + maxTokens > this.#slotTokens) {
      throw new TooLong(
        `expected prompt and max_tokens to be ${this.#slotTokens} tokens at most, got ${prompt.length} + ${maxTokens}`,
      );
    }
    const slot = await this.#takeSlot(prompt);
    try {
      return await this.#run(slot.sequence, prompt, maxTokens, onText, signal);
    } finally {
      this.#giveSlot(slot);
    }
  }

  async #run(
    sequence: LlamaSequence,
    prompt: number[],
    maxTokens: number,
    onText: (text: string) => void,
    signal: AbortSignal,
  ): Promise<Generated> {
    const { counters } = this;
    const started = performance.now();
    await sequence.adaptStateToTokens(prompt, false);
    // The last prompt token is computed in any case: its result is the first token of the answer.
    const cachedTokens = Math.min(sequence.nextTokenIndex, prompt.length - 1);
    if (sequence.nextTokenIndex > cachedTokens) {
      await sequence.eraseContextTokenRanges([
        { start: cachedTokens, end: sequence.nextTokenIndex },
      ]);
    }
    const output: number[] = [];
    let text = "";
    let ended = false;
    let firstAt = 0;
    for await (const token of sequence.evaluate(prompt.slice(cachedTokens), { temperature: 0 })) {
      if (firstAt === 0) {
        firstAt = performance.now();
        counters.prompt_tokens_total += prompt.length - cachedTokens;
        counters.prompt_seconds_total += (firstAt - started) / 1000;
      }
      ended = this.#model.isEogToken(token);
      if (ended || signal.aborted) break;
      output.push(token);
      const longer = this.#model.detokenize(output, false, prompt.slice(-1));
      // A character beyond ASCII may take several tokens.
      if (!longer.endsWith("\ufffd")) {
        onText(longer.slice(text.length));
        text = longer;
      }
      if (output.length >= maxTokens) break;
    }
    counters.tokens_predicted_total += output.length;
    counters.tokens_predicted_seconds_total += (performance.now() - firstAt) / 1000;
    return { promptTokens: prompt.length, cachedTokens, outputTokens: output.length, ended };
  }

  async #takeSlot(prompt: number[]): Promise<SequenceSlot> {
    for (;;) {
      const slot = pickSlot(this.#slots, prompt);
      if (slot !== undefined) {
        slot.busy = true;
        slot.used = ++this.#serial;
        this.counters.requests_processing++;
        return slot;
      }
      this.counters.requests_deferred++;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.counters.requests_deferred--;
    }
  }

  #giveSlot(slot: SequenceSlot): void {
    slot.busy = false;
    this.counters.requests_processing--;
    this.#waiting.shift()?.();
  }
}

/** ChatML, as SmolLM2 was trained on. */
function chatTemplate(messages: Message[]): string {
  const parts = messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`);
  return `${parts.join("")}<|im_start|>assistant\n`;
}
