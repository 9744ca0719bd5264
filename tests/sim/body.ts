import { BLOCK_TOKENS, RunCursor } from "../llm/runs.ts";
import { TOKEN_BYTES } from "../llm/tokens.ts";
import { hash32 } from "./policy.ts";
import { Random } from "./random.ts";
import type { Message, WorkRequest } from "./workload.ts";

const BLOCK_BYTES = BLOCK_TOKENS * TOKEN_BYTES;
/** Letters that spell a block's id, so that no two blocks read the same. */
const ID_BYTES = 12;
const POOL_BYTES = 1 << 16;

/** Plausible English-like filler that needs no escapes in JSON. */
const POOL = makePool();

const MODEL = "sim-model";

/**
 * The request as a client would send it: a chat body whose text is made from the block ids, 4
 * bytes a token, so that equal ids read the same and others don't.
 */
export function chatBody(request: WorkRequest): Buffer {
  const writer = new BodyWriter(request);
  writer.literal(`{"model":"${MODEL}","stream":true,"stream_options":{"include_usage":true},`);
  const [first] = request.messages;
  if (first?.role === "tools") {
    writer.literal(
      '"tools":[{"type":"function","function":{"name":"run","parameters":{"type":"object"},"description":"',
    );
    writer.text(first);
    writer.literal('"}}],');
  }
  writer.literal('"messages":[');
  const last = request.messages.length - 1;
  for (const [at, message] of request.messages.entries()) {
    if (message.role === "tools") continue;
    const id = message.role === "tool" ? ',"tool_call_id":"call_1"' : "";
    writer.literal(`{"role":"${message.role}"${id},"content":"`);
    if (at === last) writer.rest();
    else writer.text(message);
    writer.literal(at === last ? '"}' : '"},');
  }
  writer.literal("]}");
  return writer.done();
}

class BodyWriter {
  private readonly request: WorkRequest;
  private readonly cursor: RunCursor;
  private readonly bytes: Buffer;
  private at = 0;
  private blocks = 0;

  constructor(request: WorkRequest) {
    this.request = request;
    this.cursor = new RunCursor(request.blocks);
    const size = request.promptTokens * TOKEN_BYTES + request.messages.length * 64 + 512;
    this.bytes = Buffer.allocUnsafe(size + BLOCK_BYTES);
  }

  literal(text: string): void {
    this.at += this.bytes.write(text, this.at, "latin1");
  }

  /** The message's blocks. */
  text(message: Message): void {
    for (let i = 0; i < message.blocks && !this.cursor.done; i += 1) this.block();
  }

  /** What is left of the prompt: full blocks, then the tail, which is this request's own. */
  rest(): void {
    while (!this.cursor.done) this.block();
    const tailTokens = this.request.promptTokens - this.blocks * BLOCK_TOKENS;
    if (tailTokens <= 0) return;
    const bytes = Math.min(tailTokens * TOKEN_BYTES, this.bytes.length - this.at - 64);
    const from = hash32(`tail ${this.request.id}`) % (POOL_BYTES - BLOCK_BYTES);
    const whole = Math.min(bytes, POOL_BYTES - from);
    POOL.copy(this.bytes, this.at, from, from + whole);
    if (whole >= ID_BYTES) this.spell(this.request.id + 1e9, this.at);
    this.at += whole;
  }

  done(): Buffer {
    return this.bytes.subarray(0, this.at);
  }

  private block(): void {
    const { id } = this.cursor;
    this.cursor.advance(1);
    this.spell(id, this.at);
    const from = (Math.imul(id, 0x9e3779b1) >>> 0) % (POOL_BYTES - BLOCK_BYTES);
    POOL.copy(this.bytes, this.at + ID_BYTES, from, from + BLOCK_BYTES - ID_BYTES);
    this.at += BLOCK_BYTES;
    this.blocks += 1;
  }

  private spell(id: number, at: number): void {
    let rest = id;
    for (let i = 0; i < ID_BYTES - 1; i += 1) {
      this.bytes[at + i] = 97 + (rest % 26);
      rest = Math.floor(rest / 26);
    }
    this.bytes[at + ID_BYTES - 1] = 0x20;
  }
}

function makePool(): Buffer {
  const random = new Random(1, "text");
  const words = Array.from({ length: 400 }, () => {
    let word = "";
    const letters = 2 + random.below(8);
    for (let i = 0; i < letters; i += 1) word += "etaoinshrdlucmfw"[random.below(16)];
    return word;
  });
  let text = "";
  while (text.length < POOL_BYTES) text += `${random.pick(words)} `;
  return Buffer.from(text.slice(0, POOL_BYTES), "latin1");
}
