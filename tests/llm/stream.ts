import {
  type Answer,
  answerText,
  answerToken,
  anthropicUsage,
  finishReason,
  metaInfo,
  openaiUsage,
  responseObject,
  type Usage,
} from "./answers.ts";

/**
 * Writes one streamed answer as server-sent events in its API's shapes: `begin` with the first
 * token, `tokens` for each piece, `end` with the usage. All return the text to send.
 */
export interface AnswerStream {
  begin(usage: Usage): string;
  tokens(from: number, to: number): string;
  end(usage: Usage): string;
}

export function answerStream(answer: Answer): AnswerStream {
  switch (answer.prompt.api) {
    case "messages":
      return new AnthropicStream(answer);
    case "responses":
      return new ResponsesStream(answer);
    case "chat":
    case "completions":
    case "embeddings":
      return new OpenaiStream(answer);
    default:
      return new EngineStream(answer);
  }
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function event(name: string, value: object): string {
  return `event: ${name}\n${data({ type: name, ...value })}`;
}

function piece(answer: Answer, from: number, to: number): string {
  let text = "";
  for (let i = from; i < to; i += 1) text += answerToken(answer.seed, i);
  return text;
}

class OpenaiStream implements AnswerStream {
  private readonly answer: Answer;
  private readonly chat: boolean;

  constructor(answer: Answer) {
    this.answer = answer;
    this.chat = answer.prompt.api === "chat";
  }

  begin(): string {
    return this.chat ? this.chunks({ role: "assistant", content: "" }, null) : "";
  }

  tokens(from: number, to: number): string {
    return this.chunks({ content: piece(this.answer, from, to) }, null);
  }

  end(usage: Usage): string {
    let text = this.chunks({}, finishReason(this.answer));
    if (this.answer.prompt.includeUsage) {
      text += data({ ...this.head(), choices: [], usage: openaiUsage(usage) });
    }
    return `${text}data: [DONE]\n\n`;
  }

  private head(): object {
    const { id, created, prompt } = this.answer;
    const object = this.chat ? "chat.completion.chunk" : "text_completion";
    return { id, object, created, model: prompt.model };
  }

  /** One chunk per choice. */
  private chunks(delta: { role?: string; content?: string }, finish: string | null): string {
    let text = "";
    for (let index = 0; index < this.answer.prompt.choices; index += 1) {
      const choice = this.chat ? { index, delta } : { index, text: delta.content ?? "" };
      text += data({
        ...this.head(),
        choices: [{ ...choice, logprobs: null, finish_reason: finish }],
      });
    }
    return text;
  }
}

class AnthropicStream implements AnswerStream {
  private readonly answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
  }

  begin(usage: Usage): string {
    const { id, prompt } = this.answer;
    return (
      event("message_start", {
        message: {
          id,
          type: "message",
          role: "assistant",
          model: prompt.model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...anthropicUsage(usage), output_tokens: 1 },
        },
      }) + event("content_block_start", { index: 0, content_block: { type: "text", text: "" } })
    );
  }

  tokens(from: number, to: number): string {
    const delta = { type: "text_delta", text: piece(this.answer, from, to) };
    return event("content_block_delta", { index: 0, delta });
  }

  end(usage: Usage): string {
    const reason = finishReason(this.answer) === "stop" ? "end_turn" : "max_tokens";
    return (
      event("content_block_stop", { index: 0 }) +
      event("message_delta", {
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: usage.completionTokens },
      }) +
      event("message_stop", {})
    );
  }
}

class ResponsesStream implements AnswerStream {
  private readonly answer: Answer;
  private sequence = 0;

  constructor(answer: Answer) {
    this.answer = answer;
  }

  begin(): string {
    const response = responseObject(this.answer, "in_progress", "", null);
    return this.next("response.created", { response });
  }

  tokens(from: number, to: number): string {
    return this.next("response.output_text.delta", {
      item_id: `msg_${this.answer.id}`,
      output_index: 0,
      content_index: 0,
      delta: piece(this.answer, from, to),
    });
  }

  end(usage: Usage): string {
    const text = answerText(this.answer);
    const response = responseObject(this.answer, "completed", text, usage);
    return this.next("response.completed", { response });
  }

  private next(name: string, value: object): string {
    const text = event(name, { sequence_number: this.sequence, ...value });
    this.sequence += 1;
    return text;
  }
}

/** The engines' own endpoints: SGLang and TGI `/generate`, llama.cpp `/completion`. */
class EngineStream implements AnswerStream {
  private readonly answer: Answer;
  private usage: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

  constructor(answer: Answer) {
    this.answer = answer;
  }

  begin(usage: Usage): string {
    this.usage = usage;
    return "";
  }

  tokens(from: number, to: number): string {
    const text = piece(this.answer, from, to);
    if (this.answer.prompt.api === "llamacpp") return data({ content: text, stop: false });
    if (this.answer.prompt.api === "tgi") return data({ token: { text }, generated_text: null });
    const usage = { ...this.usage, completionTokens: to };
    return data({ text: piece(this.answer, 0, to), meta_info: metaInfo(this.answer, usage) });
  }

  end(usage: Usage): string {
    if (this.answer.prompt.api === "sglang") return "data: [DONE]\n\n";
    if (this.answer.prompt.api === "tgi") {
      return data({ token: { text: "" }, generated_text: answerText(this.answer) });
    }
    return data({
      content: "",
      stop: true,
      tokens_predicted: usage.completionTokens,
      tokens_evaluated: usage.promptTokens,
      tokens_cached: usage.cachedTokens,
    });
  }
}
