import { equalsText, lowerEquals, parseDecimal, text } from "../../bytes";
import {
  HeaderMap,
  pairNameLen,
  pairNamePtr,
  pairValueLen,
  pairValuePtr,
  readPairs,
} from "../../host/headers";
import { ORCA_HEADER } from "../../metrics/orca";

const STATUS = text(":status");
const CONTENT_TYPE = text("content-type");
const CONTENT_ENCODING = text("content-encoding");
const RETRY_AFTER = text("retry-after");
const EVENT_STREAM = text("text/event-stream");
const IDENTITY = text("identity");
const ORCA = text(ORCA_HEADER);
/** Status of Anthropic's and others' for what 503 says too. */
const OVERLOADED: i32 = 529;

/** What an answer's headers say; of a header given twice the first counts. One a VM, read before the next answer's. */
export class AnswerHead {
  /** 0 unknown. */
  status: i32 = 0;
  isEventStream: bool = false;
  /** The body is compressed, or otherwise encoded. */
  isEncoded: bool = false;
  hasRetryAfter: bool = false;
  /** Seconds of `retry-after`, −1 where it is a date or nothing of sense. */
  retryAfterS: i64 = -1;
  /** ORCA load report, length 0 for none; valid within the callback that read it. */
  orcaPtr: usize = 0;
  orcaLen: i32 = 0;
  private hasType: bool = false;

  /** Whether the server asks for less, and says for how long: not a failure. */
  get isPushBack(): bool {
    const mayBe = this.status == 429 || this.status == 503 || this.status == OVERLOADED;
    return mayBe && this.hasRetryAfter;
  }

  /** Reads the headers of the response. */
  read(): void {
    this.status = 0;
    this.isEventStream = false;
    this.isEncoded = false;
    this.hasRetryAfter = false;
    this.retryAfterS = -1;
    this.orcaLen = 0;
    this.hasType = false;
    const count = readPairs(HeaderMap.Response);
    for (let i = 0; i < count; i++) this.take(i);
  }

  private take(i: i32): void {
    const name = pairNamePtr(i);
    const length = pairNameLen(i);
    const value = pairValuePtr(i);
    const size = pairValueLen(i);
    if (length == STATUS.len && equalsText(name, length, STATUS)) {
      if (this.status == 0) this.status = <i32>max<i64>(parseDecimal(value, size), 0);
    } else if (length == CONTENT_TYPE.len && equalsText(name, length, CONTENT_TYPE)) {
      if (this.hasType) return;
      this.hasType = true;
      const isLong = size >= EVENT_STREAM.len;
      this.isEventStream = isLong && lowerEquals(value, EVENT_STREAM.len, EVENT_STREAM);
    } else if (length == CONTENT_ENCODING.len && equalsText(name, length, CONTENT_ENCODING)) {
      if (size > 0 && !lowerEquals(value, size, IDENTITY)) this.isEncoded = true;
    } else if (length == RETRY_AFTER.len && equalsText(name, length, RETRY_AFTER)) {
      if (this.hasRetryAfter) return;
      this.hasRetryAfter = true;
      this.retryAfterS = parseDecimal(value, size);
    } else if (length == ORCA.len && this.orcaLen == 0 && equalsText(name, length, ORCA)) {
      this.orcaPtr = value;
      this.orcaLen = size;
    }
  }
}
