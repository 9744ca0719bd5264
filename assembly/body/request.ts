/**
 * Reads a request body as it streams in: one reader for chat completions, completions, Responses,
 * Anthropic messages, embeddings and the engines' own APIs, whatever the path. It keeps facts and
 * the chain of the prompt's boundaries, not the body. Readers are made once and used again.
 */
import { JsonScanner, ScanState } from "../json/scanner";
import { Chain, Opening } from "../prefix/chain";
import { BodyStatus, Facts } from "./facts";
import { BodyFields } from "./fields";
import { RootReader } from "./root";

/** Tokens that an image or a sound counts unless `seal` is told otherwise. */
const MEDIA_TOKENS: u32 = 1024;

@final
export class RequestReader {
  /** Filled by `finish`. */
  readonly facts: Facts = new Facts();
  /** Boundaries of the prompt, filled by `seal`. */
  readonly chain: Chain;

  private root: RootReader;
  private scanner: JsonScanner;
  private opening: Opening = new Opening();

  constructor() {
    const root = new RootReader();
    this.root = root;
    this.scanner = new JsonScanner(root);
    this.chain = root.content.chain;
  }

  /** Ready for another body. */
  begin(fields: BodyFields): void {
    this.facts.clear();
    this.scanner.reset();
    this.root.begin(this.scanner, fields);
  }

  /** The next bytes of the body, cut anywhere. */
  feed(ptr: usize, len: i32): void {
    if (len <= 0) return;
    this.facts.bodyBytes += len;
    this.scanner.feed(ptr, len);
  }

  /**
   * The body ends, or (`isTruncated`) the inspection of it: fills `facts`.
   */
  finish(isTruncated: bool): void {
    const facts = this.facts;
    const isReading = this.scanner.state == ScanState.Reading;
    const isWhole = this.scanner.finish() == ScanState.Complete;
    if (!isWhole && !(isTruncated && isReading)) {
      const bytes = facts.bodyBytes;
      facts.clear();
      facts.bodyBytes = bytes;
      this.chain.reset();
      return;
    }
    const root = this.root;
    const content = root.content;
    if (!isWhole) root.cutOff();
    root.settle();
    root.settings.writeTo(facts);
    facts.modelLen = root.modelLen;
    memory.copy(facts.modelPtr, changetype<usize>(root.model), root.modelLen);
    const messages = content.messages;
    const system = content.system;
    facts.promptCodePoints = messages.codePoints + system.codePoints;
    facts.promptBytes = messages.bytes + system.bytes;
    facts.tokenIds = messages.tokenIds;
    facts.images = messages.images + system.images + root.settings.images;
    facts.audios = messages.audios + system.audios + root.settings.audios;
    facts.prompts = max(content.prompts, 1);
    facts.toolsHash = root.tools.hash;
    facts.toolsBytes = root.tools.bytes;
    facts.systemHash = content.systemHash;
    facts.firstUserHash = content.firstUserHash;
    facts.headBytes = facts.toolsBytes + system.bytes + content.headBytes;
    facts.nonceBytes = content.systemNonceBytes + content.messageNonceBytes;
    facts.nonceSkipped = facts.nonceBytes > 0;
    if (isTruncated) facts.status = BodyStatus.Truncated;
    else if (messages.isEmpty && system.isEmpty) facts.status = BodyStatus.NoPrompt;
    else facts.status = BodyStatus.Complete;
  }

  /**
   * Gives the boundaries their ids. Call after `finish`, if the facts are readable.
   * @param seed hash of all that must not share: model, adapter, cache salt, tenant
   * @param mediaTokens tokens that an image or a sound counts
   */
  seal(seed: u64, mediaTokens: u32 = MEDIA_TOKENS): void {
    const root = this.root;
    const content = root.content;
    const facts = this.facts;
    const opening = this.opening;
    opening.tools = facts.toolsHash;
    opening.toolsBytes = facts.toolsBytes;
    opening.isToolsCut = root.isToolsCut;
    opening.system = facts.systemHash;
    opening.systemBytes = content.system.bytes;
    opening.systemMedia = content.system.media;
    opening.isSystemCut = content.isSystemCut;
    this.chain.seal(seed, mediaTokens, opening);
  }
}
