/** What a request body says, as far as routing needs it. */

/** Longest model name that is kept, in bytes. Its hash covers all of it. */
export const MAX_MODEL_BYTES: i32 = 256;

/** How the body could be read. */
export const enum BodyStatus {
  /** To the end, and there is a prompt. */
  Complete,
  /** Up to where the inspection stopped; counts are lower bounds. */
  Truncated,
  /** It isn't JSON, or nested too deep; nothing else is known. */
  Malformed,
  /** It is JSON without any prompt. */
  NoPrompt,
}

@final
export class Facts {
  status: BodyStatus = BodyStatus.Malformed;
  /** Bytes of body read. */
  bodyBytes: u32 = 0;

  /** Top-level `model`: bytes (cut at MAX_MODEL_BYTES), and hash of the whole; 0 where it is absent. */
  modelLen: i32 = 0;
  modelHash: u64 = 0;
  private model: StaticArray<u8> = new StaticArray<u8>(MAX_MODEL_BYTES);

  /** Whether the answer is to be streamed. */
  stream: bool = false;
  /** Output tokens at most, 0 where it isn't said. */
  outputCap: u32 = 0;
  /** Answers asked for, and drawn to choose from: 1..1024. */
  n: u32 = 1;
  bestOf: u32 = 1;

  /** Code points of the text that reaches the prompt, and its bytes in UTF-8. */
  promptCodePoints: u32 = 0;
  promptBytes: u32 = 0;
  /** Prompt tokens given as ids. */
  tokenIds: u32 = 0;
  images: u32 = 0;
  audios: u32 = 0;
  /** Prompts in one request: 1 for a conversation. */
  prompts: u32 = 1;
  /** Bytes of the tools' schemas, written compactly. */
  toolsBytes: u32 = 0;

  /** Hashes, 0 for absent. */
  toolsHash: u64 = 0;
  systemHash: u64 = 0;
  /** Messages up to the end of the first of the user (of the first of all, if none is the user's). */
  firstUserHash: u64 = 0;
  /** Prompt bytes before that message, tools' schemas included: what other conversations may begin with, too. */
  headBytes: u32 = 0;
  /** The session that ranks first among the configured body fields, and its place there, −1 for none. */
  sessionHash: u64 = 0;
  sessionRank: i32 = -1;
  /** Whether that session is the `previous_response_id`. */
  sessionIsResponseId: bool = false;
  previousResponseIdHash: u64 = 0;
  userHash: u64 = 0;
  cacheSaltHash: u64 = 0;
  /** Adapters, and all else beside the prompt's text that a cache depends on: further salts, images, a template. */
  adapterHash: u64 = 0;

  /** Whether a line that differs in each request was left out, and its bytes. */
  nonceSkipped: bool = false;
  nonceBytes: u32 = 0;

  /** Address of the model's name. */
  get modelPtr(): usize {
    return changetype<usize>(this.model);
  }

  /** Whether routing can go by the content. */
  get isReadable(): bool {
    return this.status == BodyStatus.Complete || this.status == BodyStatus.Truncated;
  }

  get isComplete(): bool {
    return this.status == BodyStatus.Complete;
  }

  clear(): void {
    this.status = BodyStatus.Malformed;
    this.bodyBytes = 0;
    this.modelLen = 0;
    this.modelHash = 0;
    this.stream = false;
    this.outputCap = 0;
    this.n = 1;
    this.bestOf = 1;
    this.promptCodePoints = 0;
    this.promptBytes = 0;
    this.tokenIds = 0;
    this.images = 0;
    this.audios = 0;
    this.prompts = 1;
    this.toolsBytes = 0;
    this.toolsHash = 0;
    this.systemHash = 0;
    this.firstUserHash = 0;
    this.headBytes = 0;
    this.sessionHash = 0;
    this.sessionRank = -1;
    this.sessionIsResponseId = false;
    this.previousResponseIdHash = 0;
    this.userHash = 0;
    this.cacheSaltHash = 0;
    this.adapterHash = 0;
    this.nonceSkipped = false;
    this.nonceBytes = 0;
  }
}
