import { equalsText, text } from "../bytes";
import { JsonScanner } from "../json/scanner";
import { LevelSink } from "../json/sink";
import { hashBytes } from "../prefix/hash";
import { AnswerError, ErrorNote, isErrorKey, isErrorWord } from "./answererror";
import { readCount } from "./count";
import { FIELDS, Field, findKey, KEYS, Place } from "./usagekeys";
import { isContentKey } from "./usagepeek";

/** Deepest nesting of objects that are looked into. */
const MAX_PLACES: i32 = 6;

/** Longest response id. */
const ID_BYTES: i32 = 256;

const ID = text("id");
const STOP = text("stop");

/**
 * What an answer, or the events of one, say about tokens. Fields of later events replace those of
 * earlier ones, but 0 replaces nothing: some servers say 0 where they don't know, at the start or at the
 * end. Those of the items of a batch (a list at the top) add up.
 */
export class UsageFacts extends LevelSink {
  /** Hash of the answer's id, 0 if it has none. */
  idHash: u64 = 0;
  /** llama.cpp's `"stop": true` was seen. */
  stopped: bool = false;
  /** The document now read holds generated text; only kept while `watchContent`. */
  hasContent: bool = false;
  /** Whether to look for generated text. */
  watchContent: bool = false;
  /** For this class to say which strings it wants. */
  scanner: JsonScanner | null = null;
  private fields: StaticArray<i64> = new StaticArray<i64>(FIELDS);
  private sums: StaticArray<i64> = new StaticArray<i64>(FIELDS);
  private inBatch: bool = false;
  private places: StaticArray<u8> = new StaticArray<u8>(MAX_PLACES);
  private depth: i32 = 0;
  private skipped: i32 = 0;
  private to: Place = Place.None;
  private field: Field = Field.None;
  private atId: bool = false;
  private atStop: bool = false;
  private atContent: bool = false;
  private atError: bool = false;
  private atErrorWord: bool = false;
  private note: ErrorNote = new ErrorNote();
  private id: StaticArray<u8> = new StaticArray<u8>(ID_BYTES);
  private idLen: i32 = 0;
  private prefill: i64 = 0;

  /** Forgets everything. */
  reset(): void {
    this.idHash = 0;
    this.stopped = false;
    this.note.reset();
    this.watchContent = false;
    for (let i = 0; i < FIELDS; i++) {
      unchecked((this.fields[i] = -1));
      unchecked((this.sums[i] = -1));
    }
    this.startDocument();
  }

  /** Gets ready for another document of the same answer. */
  startDocument(): void {
    this.inBatch = false;
    this.depth = 0;
    this.skipped = 0;
    this.to = Place.None;
    this.field = Field.None;
    this.atId = false;
    this.atStop = false;
    this.atContent = false;
    this.atError = false;
    this.atErrorWord = false;
    this.hasContent = false;
    const scanner = this.scanner;
    if (scanner) scanner.skipStrings = true;
  }

  /** Whether it holds an error, and whose. */
  get error(): AnswerError {
    return this.note.error;
  }

  /** It holds an error, by the name of its event. */
  foundError(): void {
    this.note.found();
  }

  /** Prompt tokens, cached ones included; −1 unknown. */
  get promptTokens(): i64 {
    const prompt = this.get(Field.Prompt);
    if (prompt >= 0) return prompt;
    const input = this.get(Field.Input);
    if (input < 0) return -1;
    return (
      input + max<i64>(this.get(Field.CacheRead), 0) + max<i64>(this.get(Field.CacheCreation), 0)
    );
  }

  /** Generated tokens; −1 unknown. */
  get completionTokens(): i64 {
    const completion = this.get(Field.Completion);
    return completion >= 0 ? completion : this.get(Field.Predicted);
  }

  /** Prompt tokens that came from the cache; −1 unknown. */
  get cachedTokens(): i64 {
    const cached = this.get(Field.Cached);
    if (cached >= 0) return cached;
    const read = this.get(Field.CacheRead);
    if (read >= 0) return read;
    const reused = this.get(Field.Reused);
    if (reused >= 0) return reused;
    const prompt = this.get(Field.Prompt);
    const processed = this.get(Field.Processed);
    return processed >= 0 && prompt >= processed ? prompt - processed : -1;
  }

  private get(field: Field): i64 {
    const sum = unchecked(this.sums[field]);
    return sum >= 0 ? sum : unchecked(this.fields[field]);
  }

  private get place(): Place {
    return this.depth == 0 ? Place.None : <Place>unchecked(this.places[this.depth - 1]);
  }

  protected open(isObject: bool): void {
    let place = Place.None;
    if (this.skipped == 0) {
      if (this.depth == 0) {
        if (isObject) place = Place.Root;
        else if (!this.inBatch) {
          this.inBatch = true;
          return;
        }
      } else if (this.atError && isObject) {
        this.note.found();
        place = Place.Error;
      } else if (isObject == (this.to != Place.Prefill)) {
        place = this.to;
      }
      if (this.place == Place.Prefill) this.prefill++;
    }
    this.clearKey();
    if (place == Place.None || this.depth >= MAX_PLACES) {
      this.skipped++;
      return;
    }
    if (place == Place.Prefill) this.prefill = 0;
    unchecked((this.places[this.depth] = <u8>place));
    this.depth++;
  }

  protected close(): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    if (this.depth == 0) return;
    const place = this.place;
    this.depth--;
    if (place == Place.Prefill && this.prefill > 0) {
      unchecked((this.fields[Field.Prompt] = this.prefill));
    }
    if (place == Place.Root && this.inBatch) this.addItem();
  }

  /** Adds an item of a batch to the sums. */
  private addItem(): void {
    for (let i = 0; i < FIELDS; i++) {
      const value = unchecked(this.fields[i]);
      if (value < 0) continue;
      unchecked((this.sums[i] = max<i64>(this.sums[i], 0) + value));
      unchecked((this.fields[i] = -1));
    }
  }

  private clearKey(): void {
    this.to = Place.None;
    this.field = Field.None;
    this.atId = false;
    this.atStop = false;
    if (!this.atContent && !this.atError && !this.atErrorWord) return;
    this.atContent = false;
    this.atError = false;
    this.atErrorWord = false;
    this.skipStrings(true);
  }

  private skipStrings(skip: bool): void {
    const scanner = this.scanner;
    if (scanner) scanner.skipStrings = skip;
  }

  onKey(ptr: usize, len: i32, cut: bool): void {
    this.clearKey();
    if (cut) return;
    if (this.watchContent && !this.hasContent && isContentKey(ptr, len)) {
      this.atContent = true;
      this.skipStrings(false);
    }
    if (this.skipped > 0) return;
    const place = this.place;
    if (place <= Place.Inner) {
      if (this.idHash == 0 && equalsText(ptr, len, ID)) {
        this.atId = true;
        this.idLen = 0;
        this.skipStrings(false);
        return;
      }
      if (isErrorKey(ptr, len)) {
        this.atError = true;
        this.skipStrings(false);
        return;
      }
      this.atStop = place == Place.Root && equalsText(ptr, len, STOP);
    }
    if ((place == Place.Error || place == Place.Root) && isErrorWord(ptr, len)) {
      this.atErrorWord = true;
      this.skipStrings(false);
      return;
    }
    const found = findKey(place, ptr, len);
    if (found < 0) return;
    const key = unchecked(KEYS[found]);
    this.to = key.to;
    this.field = key.field;
  }

  onStringBytes(ptr: usize, len: i32): void {
    if (this.atContent) this.hasContent = true;
    if (this.atError) this.note.found();
    else if (this.atErrorWord) this.note.word(ptr, len);
    if (!this.atId || this.idLen < 0) return;
    if (len > ID_BYTES - this.idLen) {
      this.idLen = -1;
      return;
    }
    memory.copy(changetype<usize>(this.id) + this.idLen, ptr, len);
    this.idLen += len;
  }

  onStringEnd(): void {
    if (this.atId) {
      if (this.idLen > 0) this.idHash = hashBytes(changetype<usize>(this.id), this.idLen);
      this.skipStrings(true);
    }
    if (this.atErrorWord) this.note.ends();
    this.clearKey();
  }

  onNumber(ptr: usize, len: i32): void {
    if (this.atErrorWord) {
      this.note.word(ptr, len);
      this.note.ends();
    }
    if (this.skipped == 0 && this.field != Field.None) {
      const value = readCount(ptr, len);
      const known = unchecked(this.fields[this.field]);
      if (value > 0 || (value == 0 && known < 0)) unchecked((this.fields[this.field] = value));
    }
    this.clearKeyAfterId();
  }

  onTrue(): void {
    if (this.atStop && this.skipped == 0) this.stopped = true;
    if (this.atError) this.note.found();
    this.clearKeyAfterId();
  }

  onFalse(): void {
    this.clearKeyAfterId();
  }

  onNull(): void {
    this.clearKeyAfterId();
  }

  /** An id that is no string is none. */
  private clearKeyAfterId(): void {
    if (this.atId) this.skipStrings(true);
    this.clearKey();
  }
}
