/**
 * The fields of a body's outermost object, and which of them count: prompt and system text go to the
 * content reader, tools to a digest, the rest is kept as settings. A later value under the same key
 * takes the place of the earlier one.
 */
import { JsonScanner } from "../json/scanner";
import { JsonSink } from "../json/sink";
import { ContentReader } from "./content";
import { ValueDigest } from "./digest";
import { MAX_MODEL_BYTES } from "./facts";
import { BodyFields, FieldNode } from "./fields";
import { isMediaData, isNamed, isPrompt, isSeed, isSystem, isTools, RootKey } from "./rootkeys";
import { sessionInUserId } from "./session";
import { Settings } from "./settings";
import { TextField } from "./textfield";
import { Tools } from "./tools";

/** Objects around a field that counts, the body itself among them. */
const MAX_DEPTH: i32 = 8;

/** Who takes the present value. */
export const enum Taker {
  /** This reader. */
  Fields,
  /** The content reader. */
  Content,
  /** The digest: tools, and what the cache depends on beside the prompt. */
  Digest,
}

export abstract class RootFields extends JsonSink {
  readonly content: ContentReader = new ContentReader();
  readonly settings: Settings = new Settings();
  readonly tools: Tools = new Tools();
  /** The model's name, cut where `facts` has no more room. */
  readonly model: StaticArray<u8> = new StaticArray<u8>(MAX_MODEL_BYTES);
  modelLen: i32 = 0;

  /** Whether the body ended inside tools. */
  isToolsCut: bool = false;

  protected scanner: JsonScanner | null = null;
  protected fields: BodyFields | null = null;
  protected taker: Taker = Taker.Fields;
  /** Arrays and objects open that don't count. */
  protected skipped: i32 = 0;
  /** Objects open whose fields count. */
  protected depth: i32 = 0;
  protected key: RootKey = RootKey.Unknown;
  protected field: FieldNode | null = null;
  protected outerKeys: StaticArray<u8> = new StaticArray<u8>(MAX_DEPTH + 1);
  protected outerFields: Array<FieldNode | null> = new Array<FieldNode | null>(MAX_DEPTH + 1);
  /** Which key the prompt came from, and which the system text. */
  protected promptKey: RootKey = RootKey.Unknown;
  protected systemKey: RootKey = RootKey.Unknown;
  protected digest: ValueDigest = new ValueDigest();
  protected isReading: bool = false;
  protected text: TextField = new TextField();

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
    this.tools.reset();
  }

  /** The body has ended. A query counts only beside the documents that it is held against. */
  settle(): void {
    if (this.systemKey == RootKey.Query && this.promptKey != RootKey.Documents) {
      this.content.clearSystem();
    }
  }

  /** The body ends here, in the midst of it. */
  cutOff(): void {
    this.content.cutOff();
    if (this.taker != Taker.Digest || !isTools(this.key)) return;
    this.isToolsCut = true;
    this.tools.set(this.key, this.digest, this.digest.partialHash);
  }

  protected openObject(): void {
    const depth = this.depth;
    if (depth == 0) {
      const fields = this.fields;
      this.enter(RootKey.Unknown, fields ? fields.root : null);
      return;
    }
    this.beginField();
    // An object names a template, whose text is elsewhere.
    if (this.key == RootKey.Prompt) this.key = RootKey.PromptTemplate;
    const key = this.key;
    const hasFields = key == RootKey.Parameters || key == RootKey.SamplingParams;
    if (depth < MAX_DEPTH && (hasFields || this.field != null)) {
      this.enter(hasFields ? key : RootKey.Count, this.field);
    } else if (isSeed(key)) this.beginDigest(true);
    else this.skipped = 1;
  }

  private enter(key: RootKey, field: FieldNode | null): void {
    const depth = ++this.depth;
    unchecked((this.outerKeys[depth] = <u8>key));
    unchecked((this.outerFields[depth] = field));
  }

  protected openArray(): void {
    if (this.depth == 0) {
      this.skipped = 1;
      return;
    }
    this.beginField();
    const key = this.key;
    if (isTools(key) || isSeed(key)) this.beginDigest(false);
    else if (!this.beginContent(true)) this.skipped = 1;
  }

  protected beginText(): bool {
    if (this.depth == 0) return false;
    this.beginField();
    if (this.beginContent(false)) return true;
    const field = this.field;
    const key = this.key;
    if (!isNamed(key) && !(field && field.rank >= 0)) return false;
    this.isReading = true;
    this.text.begin();
    return true;
  }

  /** A string of the body's own fields is complete. An empty one is as good as absent, a blank one names no session. */
  protected endText(): void {
    const text = this.text;
    this.isReading = false;
    if (text.bytes == 0) return;
    const hash = text.hash;
    const key = this.key;
    if (isNamed(key)) this.settings.setHash(key, hash);
    if (isMediaData(key)) this.settings.setNumber(key, 1);
    if (key == RootKey.Model) {
      this.modelLen = min(text.keptLen, MAX_MODEL_BYTES);
      memory.copy(changetype<usize>(this.model), text.ptr, this.modelLen);
    }
    const field = this.field;
    if (!field || field.rank < 0 || text.isBlank) return;
    let session = hash;
    if (field.isUserId) session = text.isWhole ? sessionInUserId(text.ptr, text.keptLen) : 0;
    this.settings.setSession(field.rank, session, key == RootKey.PreviousResponseId);
  }

  /** A value begins: what an earlier one under the same key gave is gone. */
  protected beginField(): void {
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
      this.tools.clear(key);
    } else if (key == RootKey.Model) this.modelLen = 0;
  }

  /** Hands a string or an array to the content reader, if the key's content counts. */
  protected beginContent(isArray: bool): bool {
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

  protected settleContent(): void {
    if (this.content.isDone) this.taker = Taker.Fields;
  }

  protected beginDigest(isObject: bool): void {
    this.taker = Taker.Digest;
    this.digest.reset();
    this.digest.open(isObject);
  }

  protected closeDigest(): void {
    const digest = this.digest;
    digest.close();
    if (digest.depth > 0) return;
    this.taker = Taker.Fields;
    if (isTools(this.key)) this.tools.set(this.key, digest, digest.hash);
    else if (digest.count > 0) {
      this.settings.setHash(this.key, digest.hash);
      if (isMediaData(this.key)) this.settings.setNumber(this.key, digest.count);
    }
  }
}
