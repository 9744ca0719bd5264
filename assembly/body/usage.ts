import { Text, equalsOneOf, equalsText, text } from "../bytes";
import { JsonScanner, ScanState } from "../json/scanner";
import { AnswerError } from "./answererror";
import { EventSink, EventSplitter } from "./sse";
import { UsageFacts } from "./usagefacts";
import { Peek, peek } from "./usagepeek";

const DONE = text("[DONE]");

/** Events after which a stream is over. */
const LAST_EVENTS: StaticArray<Text> = [
  text("message_stop"),
  text("response.completed"),
  text("response.incomplete"),
  text("response.failed"),
];

const EVENT = text("event:");
/**
 * So many events of a stream announce no answer any more: it is generated in a form that isn't known here. The Responses API
 * announces in four, and a ping comes each few seconds.
 */
const ANNOUNCING_EVENTS: i32 = 16;
/** Events of this name hold an error, whatever else. */
const ERROR_EVENT = text("error");

/**
 * Reads what an answer says about its tokens: JSON or server-sent events of OpenAI's APIs,
 * Anthropic, SGLang, TGI and llama.cpp, in chunks of any size. Of a stream only the events that may
 * hold counts (or the first id) are read as JSON, the others are looked through for their keys.
 *
 * One per answer under way; about 8 KB, reused.
 */
export class UsageReader extends EventSink {
  /** The stream's own end was seen, or the JSON was whole. */
  sawDone: bool = false;
  /** Events that held generated text: about the tokens so far, if the server sends each at once. */
  outputEvents: i64 = 0;
  /** Events that didn't, up to ANNOUNCING_EVENTS. */
  private otherEvents: i32 = 0;
  private facts: UsageFacts = new UsageFacts();
  private scanner!: JsonScanner;
  private events!: EventSplitter;
  private isEventStream: bool = false;
  private isErrorNext: bool = false;

  constructor() {
    super();
    this.scanner = new JsonScanner(this.facts);
    this.facts.scanner = this.scanner;
    this.events = new EventSplitter(this);
  }

  /** Starts on a new answer; `isEventStream` by its content type. */
  begin(isEventStream: bool): void {
    this.isEventStream = isEventStream;
    this.sawDone = false;
    this.outputEvents = 0;
    this.otherEvents = 0;
    this.isErrorNext = false;
    this.scanner.reset();
    this.facts.reset();
    this.events.reset();
  }

  /** Reads the next bytes of the answer's body. */
  feed(ptr: usize, len: i32): void {
    if (len <= 0) return;
    if (this.isEventStream) this.events.feed(ptr, len);
    else this.scanner.feed(ptr, len);
  }

  /** Ends the answer; what was read until then stays, even if it was cut short. */
  finish(): void {
    if (this.isEventStream) this.events.finish();
    else if (this.scanner.finish() == ScanState.Complete) this.sawDone = true;
    if (this.facts.stopped) this.sawDone = true;
  }

  /** Prompt tokens, cached ones included; −1 unknown. */
  get promptTokens(): i64 {
    return this.facts.promptTokens;
  }

  /** Whether a stream holds more than announcements: its prefill is over. */
  get hasBegun(): bool {
    return this.outputEvents > 0 || this.otherEvents >= ANNOUNCING_EVENTS;
  }

  /** Generated tokens; −1 unknown. */
  get completionTokens(): i64 {
    return this.facts.completionTokens;
  }

  /** Prompt tokens that came from the server's cache; −1 unknown. */
  get cachedTokens(): i64 {
    return this.facts.cachedTokens;
  }

  /** Whether the answer is, or ends with, an error, and whose. */
  get error(): AnswerError {
    return this.facts.error;
  }

  /** `hashBytes` of the answer's id, 0 if there is none. */
  get idHash(): u64 {
    return this.facts.idHash;
  }

  onEvent(ptr: usize, len: i32): void {
    if (equalsText(ptr, len, DONE)) {
      this.sawDone = true;
      return;
    }
    const found = peek(ptr, len);
    this.noteEvent((found & Peek.Content) != 0);
    const wanted = Peek.Counts | Peek.Error | (this.facts.idHash == 0 ? Peek.Id : Peek.Nothing);
    if ((found & wanted) == 0 && !this.isErrorNext) return;
    this.isErrorNext = false;
    this.facts.watchContent = false;
    this.startDocument();
    this.scanner.feed(ptr, len);
    this.scanner.finish();
  }

  onEventPart(ptr: usize, len: i32, first: bool): void {
    if (first) {
      this.facts.watchContent = true;
      this.startDocument();
    }
    this.scanner.feed(ptr, len);
  }

  onEventEnd(): void {
    this.scanner.finish();
    this.noteEvent(this.facts.hasContent);
  }

  onLine(ptr: usize, len: i32): void {
    if (len <= EVENT.len || !equalsText(ptr, EVENT.len, EVENT)) return;
    ptr += EVENT.len;
    len -= EVENT.len;
    if (load<u8>(ptr) == 0x20) {
      ptr++;
      len--;
    }
    if (equalsText(ptr, len, ERROR_EVENT)) {
      this.isErrorNext = true;
      this.facts.foundError();
    }
    if (equalsOneOf(ptr, len, LAST_EVENTS)) this.sawDone = true;
  }

  private noteEvent(hasText: bool): void {
    if (hasText) this.outputEvents++;
    else if (this.otherEvents < ANNOUNCING_EVENTS) this.otherEvents++;
  }

  private startDocument(): void {
    this.scanner.reset();
    this.facts.startDocument();
  }
}
