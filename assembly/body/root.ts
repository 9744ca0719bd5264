/**
 * The outermost object of a body: hands prompt and system text to the content reader, tools to a
 * digest, and keeps the settings among its other fields.
 */
import { parseF64 } from "../bytes";
import { JsonScanner } from "../json/scanner";
import { JsonSink } from "../json/sink";
import { Hasher, mix } from "../prefix/hash";
import { ContentReader } from "./content";
import { ValueDigest } from "./digest";
import { MAX_MODEL_BYTES } from "./facts";
import { BodyFields, FieldNode } from "./fields";
import { Into } from "./nodes";
import { isAdapter, isNumber, isPrompt, isSystem, isTools, rootKey, RootKey } from "./rootkeys";
import { sessionInUserId } from "./session";
import { Settings } from "./settings";

/** Objects around a field that counts, the body itself among them. */
const MAX_DEPTH: i32 = 8;
/** Longest `metadata.user_id` in which a session is found, in bytes. */
const MAX_KEPT: i32 = 1024;

/** Who takes the present value. */
const enum Taker {
  /** This reader. */
  Fields,
  /** The content reader. */
  Content,
  /** The digest: tools, adapters. */
  Digest,
}

@final
export class RootReader extends JsonSink {
  readonly content: ContentReader = new ContentReader();
  readonly settings: Settings = new Settings();
  /** The model's name, cut where `facts` has no more room. */
  readonly model: StaticArray<u8> = new StaticArray<u8>(MAX_MODEL_BYTES);
  modelLen: i32 = 0;

  /** Whether the body ended inside tools. */
  isToolsCut: bool = false;

  private scanner: JsonScanner | null = null;
  private fields: BodyFields | null = null;
  private taker: Taker = Taker.Fields;
  /** Arrays and objects open that don't count. */
  private skipped: i32 = 0;
  /** Objects open whose fields count. */
  private depth: i32 = 0;
  private key: RootKey = RootKey.Unknown;
  private field: FieldNode | null = null;
  private outerKeys: StaticArray<u8> = new StaticArray<u8>(MAX_DEPTH + 1);
  private outerFields: Array<FieldNode | null> = new Array<FieldNode | null>(MAX_DEPTH + 1);
  /** Which key the prompt came from, and which the system text. */
  private promptKey: RootKey = RootKey.Unknown;
  private systemKey: RootKey = RootKey.Unknown;
  private digest: ValueDigest = new ValueDigest();
  /** Of `tools` and of `functions`. */
  private toolsHashes: StaticArray<u64> = new StaticArray<u64>(2);
  private toolsBytes: StaticArray<u32> = new StaticArray<u32>(2);
  private isReading: bool = false;
  private hasher: Hasher = new Hasher();
  /** Start of the present string. */
  private kept: StaticArray<u8> = new StaticArray<u8>(MAX_KEPT);
  private keptLen: i32 = 0;
  private textBytes: u32 = 0;

  constructor() {
    super();
    this.takesWholeText = true;
  }

  /** Ready for a body. `scanner` is told which strings nobody needs. */
  begin(scanner: JsonScanner, fields: BodyFields): void {
    this.scanner = scanner;
    this.fields = fields;
    this.content.reset();
    this.settings.reset();
    this.modelLen = 0;
    this.isToolsCut = false;
    this.taker = Taker.Fields;
    this.skipped = 0;
    this.depth = 0;
    this.key = RootKey.Unknown;
    this.field = null;
    this.promptKey = RootKey.Unknown;
    this.systemKey = RootKey.Unknown;
    this.isReading = false;
    for (let i = 0; i < 2; i++) {
      unchecked((this.toolsHashes[i] = 0));
      unchecked((this.toolsBytes[i] = 0));
    }
  }

  /** Hash of all tools, 0 for none. */
  get toolsHash(): u64 {
    const tools = unchecked(this.toolsHashes[0]);
    const functions = unchecked(this.toolsHashes[1]);
    if (functions == 0) return tools;
    return tools == 0 ? functions : mix(tools, functions);
  }

  /** Bytes of their schemas. */
  get toolsSize(): u32 {
    return unchecked(this.toolsBytes[0]) + unchecked(this.toolsBytes[1]);
  }

  /** The body ends here, in the midst of it. */
  cutOff(): void {
    this.content.cutOff();
    if (this.taker != Taker.Digest || !isTools(this.key)) return;
    this.isToolsCut = true;
    this.keepTools(this.digest.partialHash);
  }

  onObjectStart(): void {
    if (this.skipped > 0) this.skipped++;
    else if (this.taker == Taker.Content) this.content.openObject();
    else if (this.taker == Taker.Digest) this.digest.open(true);
    else this.openObject();
  }

  private openObject(): void {
    const depth = this.depth;
    if (depth == 0) {
      const fields = this.fields;
      this.enter(RootKey.Unknown, fields ? fields.root : null);
      return;
    }
    this.beginField();
    const key = this.key;
    const hasFields = key == RootKey.Parameters || key == RootKey.SamplingParams;
    if (depth < MAX_DEPTH && (hasFields || this.field != null)) {
      this.enter(hasFields ? key : RootKey.Count, this.field);
    } else if (isAdapter(key)) this.beginDigest(true);
    else this.skipped = 1;
  }

  private enter(key: RootKey, field: FieldNode | null): void {
    const depth = ++this.depth;
    unchecked((this.outerKeys[depth] = <u8>key));
    unchecked((this.outerFields[depth] = field));
  }

  onObjectEnd(): void {
    if (this.skipped > 0) this.skipped--;
    else if (this.taker == Taker.Content) {
      this.content.closeObject();
      this.settleContent();
    } else if (this.taker == Taker.Digest) this.closeDigest();
    else this.depth--;
  }

  onArrayStart(): void {
    if (this.skipped > 0) this.skipped++;
    else if (this.taker == Taker.Content) this.content.openArray();
    else if (this.taker == Taker.Digest) this.digest.open(false);
    else this.openArray();
  }

  private openArray(): void {
    if (this.depth == 0) {
      this.skipped = 1;
      return;
    }
    this.beginField();
    const key = this.key;
    if (isTools(key) || isAdapter(key)) this.beginDigest(false);
    else if (!this.beginContent(true)) this.skipped = 1;
  }

  onArrayEnd(): void {
    if (this.skipped > 0) this.skipped--;
    else if (this.taker == Taker.Content) {
      this.content.closeArray();
      this.settleContent();
    } else if (this.taker == Taker.Digest) this.closeDigest();
  }

  onKey(ptr: usize, len: i32, cut: bool): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) this.content.key(ptr, len, cut, this.isPlain);
    else if (this.taker == Taker.Digest) this.digest.key(ptr, len, this.isPlain);
    else {
      const outer = unchecked(this.outerFields[this.depth]);
      this.key = cut ? RootKey.Unknown : rootKey(ptr, len, unchecked(this.outerKeys[this.depth]));
      this.field = cut || !outer ? null : outer.child(ptr, len);
    }
  }

  /** Whether the scanner gives text that needs no escapes. */
  private get isPlain(): bool {
    const scanner = this.scanner;
    return scanner != null && scanner.isPlain;
  }

  onText(ptr: usize, len: i32): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Digest) this.digest.plainText(ptr, len);
    else if (this.taker == Taker.Content) {
      this.content.beginText();
      this.content.text(ptr, len, 0, true);
      this.content.endText();
      this.settleContent();
    } else if (this.beginText()) {
      if (this.taker == Taker.Content) {
        this.content.text(ptr, len, 0, true);
        this.content.endText();
        this.settleContent();
      } else {
        this.fieldText(ptr, len);
        this.endText();
      }
    }
  }

  onStringStart(): void {
    let wanted = false;
    if (this.skipped == 0) {
      if (this.taker == Taker.Content) {
        this.content.beginText();
        wanted = this.content.into != Into.Nowhere;
      } else if (this.taker == Taker.Digest) {
        this.digest.beginText();
        wanted = true;
      } else wanted = this.beginText();
    }
    const scanner = this.scanner;
    if (scanner) scanner.skipStrings = !wanted;
  }

  private beginText(): bool {
    if (this.depth == 0) return false;
    this.beginField();
    if (this.beginContent(false)) return true;
    const field = this.field;
    const key = this.key;
    const isNamed = key >= RootKey.Model && key <= RootKey.AdapterId;
    if (!isNamed && !(field && field.rank >= 0)) return false;
    this.isReading = true;
    this.hasher.reset(0);
    this.keptLen = 0;
    this.textBytes = 0;
    return true;
  }

  onStringBytes(ptr: usize, len: i32): void {
    const scanner = this.scanner;
    const tails = scanner ? scanner.spanTails : 0;
    if (this.taker == Taker.Content) this.content.text(ptr, len, tails, this.isPlain);
    else if (this.taker == Taker.Digest) this.digest.text(ptr, len, tails, this.isPlain);
    else if (this.isReading) this.fieldText(ptr, len);
  }

  private fieldText(ptr: usize, len: i32): void {
    this.hasher.update(ptr, len);
    this.textBytes += len;
    const room = min(len, MAX_KEPT - this.keptLen);
    memory.copy(changetype<usize>(this.kept) + this.keptLen, ptr, room);
    this.keptLen += room;
  }

  onStringEnd(): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) {
      this.content.endText();
      this.settleContent();
    } else if (this.taker == Taker.Digest) this.digest.endText();
    else if (this.isReading) this.endText();
  }

  /** A string of the body's own fields is complete. An empty one is as good as absent. */
  private endText(): void {
    this.isReading = false;
    if (this.textBytes == 0) return;
    const hash = this.hasher.digest();
    const key = this.key;
    if (key >= RootKey.Model && key <= RootKey.AdapterId) this.settings.setHash(key, hash);
    if (key == RootKey.Model) {
      this.modelLen = min(this.keptLen, MAX_MODEL_BYTES);
      memory.copy(changetype<usize>(this.model), changetype<usize>(this.kept), this.modelLen);
    }
    const field = this.field;
    if (!field || field.rank < 0) return;
    let session = hash;
    if (field.isUserId) {
      const isWhole = this.textBytes <= <u32>MAX_KEPT;
      session = isWhole ? sessionInUserId(changetype<usize>(this.kept), this.keptLen) : 0;
    }
    this.settings.setSession(field.rank, session, key == RootKey.PreviousResponseId);
  }

  onNumber(ptr: usize, len: i32): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) this.content.number(ptr, len);
    else if (this.taker == Taker.Digest) this.digest.number(ptr, len);
    else if (this.depth > 0) {
      this.beginField();
      if (isNumber(this.key)) this.settings.setNumber(this.key, parseF64(ptr, len));
    }
  }

  onTrue(): void {
    this.onBool(true);
  }

  onFalse(): void {
    this.onBool(false);
  }

  private onBool(value: bool): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) this.content.bool(value);
    else if (this.taker == Taker.Digest) this.digest.bool(value);
    else if (this.depth > 0) {
      this.beginField();
      if (this.key == RootKey.Stream) this.settings.stream = value;
    }
  }

  onNull(): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) this.content.nil();
    else if (this.taker == Taker.Digest) this.digest.nil();
    else if (this.depth > 0) this.beginField();
  }

  /** A value begins: what an earlier one under the same key gave is gone. */
  private beginField(): void {
    const key = this.key;
    this.settings.clear(key);
    const field = this.field;
    if (field) this.settings.clearSessions(field.ranks);
    if (isPrompt(key)) {
      if (this.promptKey != key) return;
      this.promptKey = RootKey.Unknown;
      this.content.clearMessages();
    } else if (isSystem(key)) {
      if (this.systemKey != key) return;
      this.systemKey = RootKey.Unknown;
      this.content.clearSystem();
    } else if (isTools(key)) {
      unchecked((this.toolsHashes[key - RootKey.Tools] = 0));
      unchecked((this.toolsBytes[key - RootKey.Tools] = 0));
    } else if (key == RootKey.Model) this.modelLen = 0;
  }

  /** Hands a string or an array to the content reader, if the key's content counts. */
  private beginContent(isArray: bool): bool {
    const key = this.key;
    if (isPrompt(key)) {
      if (!isArray && (key == RootKey.Messages || key == RootKey.InputIds)) return false;
      if (this.promptKey != RootKey.Unknown && this.promptKey < key) return false;
      this.promptKey = key;
      this.content.beginMessages(isArray, key == RootKey.Messages);
    } else if (isSystem(key)) {
      if (this.systemKey != RootKey.Unknown && this.systemKey < key) return false;
      this.systemKey = key;
      this.content.beginSystem(isArray);
    } else return false;
    this.taker = Taker.Content;
    return true;
  }

  private settleContent(): void {
    if (this.content.isDone) this.taker = Taker.Fields;
  }

  private beginDigest(isObject: bool): void {
    this.taker = Taker.Digest;
    this.digest.reset();
    this.digest.open(isObject);
  }

  private closeDigest(): void {
    const digest = this.digest;
    digest.close();
    if (digest.depth > 0) return;
    this.taker = Taker.Fields;
    if (isTools(this.key)) this.keepTools(digest.hash);
    else if (digest.count > 0) this.settings.setHash(this.key, digest.hash);
  }

  private keepTools(hash: u64): void {
    if (this.digest.count == 0) return;
    unchecked((this.toolsHashes[this.key - RootKey.Tools] = hash));
    unchecked((this.toolsBytes[this.key - RootKey.Tools] = this.digest.bytes));
  }
}
