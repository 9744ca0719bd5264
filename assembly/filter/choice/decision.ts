import { Choice } from "../../policy/order";
import { MAX_ENTRIES } from "../../prefix/chain";
import { Reason } from "../../policy/reason";
import { mix } from "../../prefix/hash";

/** Longest model name kept for headers and logs, bytes. */
export const MODEL_BYTES: i32 = 256;

/** What was read of one request and decided for it. One per stream, reused; allocates nothing after it was made. */
export class Decision {
  // From the headers.
  apiHash: u64 = 0;
  /** Path of the Responses API: its answers' ids are referred to. */
  isResponses: bool = false;
  headerSessionHash: u64 = 0;
  tenantHash: u64 = 0;
  /** Declared body bytes, −1 unknown. */
  contentLength: i64 = -1;

  // From the body.
  modelHash: u64 = 0;
  readonly model: usize = heap.alloc(MODEL_BYTES);
  modelLen: i32 = 0;
  outputCap: u32 = 0;
  /** The answer is to be streamed. */
  isStream: bool = false;
  /** Answers asked for: max(n, best_of), ≥ 1. */
  answers: u32 = 1;
  /** Text bytes of the prompt, and tokens of it that aren't text: what the learner corrects. */
  promptBytes: f64 = 0;
  fixedTokens: f64 = 0;
  promptChars: u64 = 0;
  /** Script of the text (cost/tokens.ts). */
  scriptBand: u32 = 0;
  images: u32 = 0;
  /** Whether any prompt was read, wholly or in part. */
  readable: bool = false;
  /** Read wholly: its size may teach. */
  complete: bool = false;

  // Decided.
  reason: i32 = Reason.Bypass;
  /** Conversation key, 0 for none. */
  key: u64 = 0;
  /** What ties fall by: the key, or the user where nothing but the user joins requests; 0 for nothing. */
  tieKey: u64 = 0;
  /** Whether a session id names the conversation. */
  hasSession: bool = false;
  /**
   * Tags of the conversation in the location table, 0 for none; the second, of sessions only, leaves the model out, for a body
   * that can't be read names none.
   */
  conversationTag: u64 = 0;
  anyModelTag: u64 = 0;
  /** Host slot that has stored the answer which the request refers to, −1 for none: elsewhere it would be answered 404. */
  keeper: i32 = -1;
  /** The conversation was at no host. */
  isNew: bool = true;
  /** Boundaries of the prompt (prefix/chain.ts), kept until it is known who served; the body's reader is free before. */
  readonly chain: StaticArray<u64> = new StaticArray<u64>(MAX_ENTRIES);
  chainLength: i32 = 0;
  /** Of these, the boundaries before the first message of the user: what other conversations may begin with, too. */
  headLength: i32 = 0;
  /** Prompt tokens up to each boundary, while the request is held: then its body's reader is free. Made at the first hold. */
  boundaryTokens: StaticArray<f64> | null = null;
  /** Whether the prompt holds earlier turns; whether a nonce ahead of it spoils the engine's cache. */
  isContinued: bool = false;
  nonceSkipped: bool = false;
  promptTokens: f64 = 0;
  cachedTokens: f64 = 0;
  /** Age of what is expected to be cached, as a share of the host's cache capacity. */
  cachedAge: f64 = 0;
  outputTokens: f64 = 0;
  readonly choice: Choice = new Choice();
  waitMs: f64 = 0;
  prefillMs: f64 = 0;
  costMs: f64 = 0;
  /** Cost on the next best host, NaN if there is none. */
  nextCostMs: f64 = NaN;
  queuedMs: f64 = 0;
  /** What it needs computed is heavy; as heavy it is kept for now, whatever room there is; it has been for long enough. */
  isHeavy: bool = false;
  isKept: bool = false;
  isFree: bool = false;
  /** Heavy and held: until when it has to begin to be in time, ms from now; below 0 too late. */
  slackMs: f64 = Infinity;
  /** For how long it has been held, ms. */
  heldMs: f64 = 0;
  /** Sequences that it decodes beside on its first choice, as the price saw them. */
  batch: f64 = 0;

  /** Hash of the model and path that are asked for. */
  get askedHash(): u64 {
    return mix(this.modelHash, this.apiHash);
  }

  /** What it is expected to keep a server busy: its prefill, and its share of the steps that decode its answer, ms. */
  workMs(decodeMsPerSequence: f64): f64 {
    return this.prefillMs + this.outputTokens * decodeMsPerSequence;
  }

  /** Blank, for the next request. */
  reset(): void {
    this.apiHash = 0;
    this.isResponses = false;
    this.headerSessionHash = 0;
    this.tenantHash = 0;
    this.contentLength = -1;
    this.modelHash = 0;
    this.modelLen = 0;
    this.outputCap = 0;
    this.isStream = false;
    this.answers = 1;
    this.promptBytes = 0;
    this.fixedTokens = 0;
    this.promptChars = 0;
    this.scriptBand = 0;
    this.images = 0;
    this.readable = false;
    this.complete = false;
    this.reason = Reason.Bypass;
    this.key = 0;
    this.tieKey = 0;
    this.hasSession = false;
    this.conversationTag = 0;
    this.anyModelTag = 0;
    this.keeper = -1;
    this.isNew = true;
    this.chainLength = 0;
    this.headLength = 0;
    this.isContinued = false;
    this.nonceSkipped = false;
    this.promptTokens = 0;
    this.cachedTokens = 0;
    this.cachedAge = 0;
    this.outputTokens = 0;
    this.choice.count = 0;
    this.waitMs = 0;
    this.prefillMs = 0;
    this.costMs = 0;
    this.nextCostMs = NaN;
    this.queuedMs = 0;
    this.isHeavy = false;
    this.isKept = false;
    this.isFree = false;
    this.heldMs = 0;
    this.slackMs = Infinity;
    this.batch = 0;
  }
}
