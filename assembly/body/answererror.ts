import { Text, equalsText, lowerEquals, text } from "../bytes";

/** Who is at fault, by an error that an answer with status 200 holds in place of a good end. */
export const enum AnswerError {
  None = 0,
  /** The request: as good as status 4xx. */
  Request = 1,
  /** Nobody: the server takes no more for now, as with 429. */
  Busy = 2,
  /** The server, as with 5xx; also where nothing says otherwise. */
  Server = 3,
}

const ERROR = text("error");
const CODE = text("code");
const TYPE = text("type");
const ERROR_TYPE = text("error_type");
const OBJECT = text("object");

/** Bytes of a code or type that are looked at. */
const WORD_BYTES: i32 = 64;

/** Parts of codes and types that say that the request is at fault: `BadRequestError`, `invalid_request_error`, `not_found`. */
const REQUEST_WORDS: StaticArray<Text> = [
  text("invalid"),
  text("badrequest"),
  text("bad_request"),
  text("validation"),
  text("notfound"),
  text("not_found"),
  text("authentication"),
  text("permission"),
  text("unprocessable"),
  text("context_length"),
  text("too_large"),
];
/** … and that the server has too much to do. */
const BUSY_WORDS: StaticArray<Text> = [
  text("overload"),
  text("rate_limit"),
  text("ratelimit"),
  text("too_many"),
  text("toomany"),
];

/**
 * Notes an `error` at the top of an answer, of one of its events, or of the response in that, and whom its `code` and `type`
 * blame:
 *
 *   {"error":{"message":"…","type":"BadRequestError","code":400}}      OpenAI, vLLM, SGLang, llama.cpp
 *   {"type":"error","error":{"type":"overloaded_error","message":"…"}} Anthropic
 *   {"error":"…","error_type":"validation"}                            TGI
 *   {"object":"error","message":"…","type":"…","code":50001}           older ones
 *   {"type":"response.failed","response":{"error":{"code":"…"}}}       Responses
 */
export class ErrorNote {
  private isThere: bool = false;
  private kind: AnswerError = AnswerError.None;
  private bytes: StaticArray<u8> = new StaticArray<u8>(WORD_BYTES);
  private length: i32 = 0;

  reset(): void {
    this.isThere = false;
    this.kind = AnswerError.None;
    this.length = 0;
  }

  /** What was found. */
  get error(): AnswerError {
    if (!this.isThere) return AnswerError.None;
    return this.kind == AnswerError.None ? AnswerError.Server : this.kind;
  }

  /** There is an error. */
  found(): void {
    this.isThere = true;
  }

  /** A piece of a code, type or kind of object; `ends` after the last one. */
  word(ptr: usize, len: i32): void {
    const room = min(len, WORD_BYTES - this.length);
    memory.copy(changetype<usize>(this.bytes) + this.length, ptr, room);
    this.length += room;
  }

  ends(): void {
    const ptr = changetype<usize>(this.bytes);
    const len = this.length;
    this.length = 0;
    if (isErrorKey(ptr, len)) this.isThere = true;
    else if (len == 3 && load<u8>(ptr) == 0x34) {
      this.blame(equalsText(ptr, len, TOO_MANY) ? AnswerError.Busy : AnswerError.Request);
    } else if (hasOneOf(ptr, len, BUSY_WORDS)) this.blame(AnswerError.Busy);
    else if (hasOneOf(ptr, len, REQUEST_WORDS)) this.blame(AnswerError.Request);
  }

  /** The first word that blames anybody counts. */
  private blame(kind: AnswerError): void {
    if (this.kind == AnswerError.None) this.kind = kind;
  }
}

const TOO_MANY = text("429");

/** Whether a key leads to an error. */
export function isErrorKey(ptr: usize, len: i32): bool {
  return len == ERROR.len && equalsText(ptr, len, ERROR);
}

/** Whether a key beside, or in, an error leads to a word on it. */
export function isErrorWord(ptr: usize, len: i32): bool {
  if (len == CODE.len) return equalsText(ptr, len, CODE) || equalsText(ptr, len, TYPE);
  return equalsText(ptr, len, OBJECT) || equalsText(ptr, len, ERROR_TYPE);
}

function hasOneOf(ptr: usize, len: i32, words: StaticArray<Text>): bool {
  for (let i = 0; i < words.length; i++) {
    const word = unchecked(words[i]);
    for (let at = 0; at + word.len <= len; at++) {
      if (lowerEquals(ptr + at, word.len, word)) return true;
    }
  }
  return false;
}
