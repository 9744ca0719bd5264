import { RequestReader } from "../../body/request";
import { Config } from "../../config/config";
import { capBand, meanOutput, promptBand } from "../../cost/output";
import { promptTokens, scriptBand } from "../../cost/tokens";
import { Reason } from "../../policy/reason";
import { mix } from "../../prefix/hash";
import { conversationKey } from "../../prefix/key";
import { Learned } from "../../state/learned";
import { Decision, MODEL_BYTES } from "../choice/decision";
import { Fleet } from "../fleet/fleet";

/** Salts that keep kinds of keys apart in the tables. */
const CONVERSATION_SALT: u64 = 0x5e55_1055_a17e_d001;
const ANY_MODEL_SALT: u64 = 0x5e55_1055_a11d_0003;
const RATIO_SALT: u64 = 0xb17e_5a17_0000_0001;
const OUTPUT_SALT: u64 = 0x0007_a075_0000_0002;

/** Observations that a broader prediction counts as, against a narrower one's own. */
const BROADER_WEIGHT: f64 = 4;
/** An unread body of unknown size, and the most that an unread body counts: tokens. */
const OPAQUE_TOKENS: f64 = 256;
const OPAQUE_TOKENS_MAX: f64 = 32768;

/** Which conversation is it, and how large: takes over what was read of a request. */
export class Identity {
  constructor(
    private config: Config,
    private fleet: Fleet,
  ) {}

  /** A request whose body was read: facts, conversation, boundaries, sizes. */
  read(d: Decision, reader: RequestReader): void {
    const facts = reader.facts;
    d.modelHash = facts.modelHash;
    d.modelLen = min(facts.modelLen, MODEL_BYTES);
    memory.copy(d.model, facts.modelPtr, d.modelLen);
    d.outputCap = facts.outputCap;
    d.isStream = facts.stream;
    d.answers = max<u32>(1, max(facts.n, facts.bestOf));
    d.promptChars = facts.promptCodePoints;
    d.scriptBand = scriptBand(<f64>facts.promptBytes, <f64>facts.promptCodePoints);
    d.images = facts.images;
    d.readable = facts.isReadable;
    d.complete = facts.isComplete;
    let seed = mix(facts.modelHash, facts.adapterHash);
    seed = mix(seed, facts.cacheSaltHash);
    seed = mix(seed, d.tenantHash);
    let session = d.headerSessionHash != 0 ? d.headerSessionHash : facts.sessionHash;
    let key: u64 = 0;
    const isReply = d.headerSessionHash == 0 && facts.sessionIsResponseId;
    const previous = facts.previousResponseIdHash;
    if (previous != 0) {
      const stored = this.fleet.storedAnswers;
      d.keeper = stored.find(d.tenantHash, previous);
      if (isReply) key = stored.conversation;
    }
    if (isReply && key == 0) session = 0;
    if (key == 0 && (session != 0 || d.readable)) {
      key = conversationKey(seed, session, facts.toolsHash, facts.systemHash, facts.firstUserHash);
    }
    d.key = key;
    d.tieKey = session == 0 && facts.userHash != 0 ? mix(seed, facts.userHash) : key;
    d.hasSession = key != 0 && session != 0;
    if (d.hasSession) d.anyModelTag = anyModelTag(d.tenantHash, session);
    if (!d.readable) {
      d.conversationTag = d.anyModelTag;
      d.reason = Reason.Opaque;
      return;
    }
    d.conversationTag = mix(key, CONVERSATION_SALT);
    reader.seal(seed, this.config.cost.tokensPerImage);
    // A body read in part: what follows is taken to be like what was read.
    const seen = <f64>facts.bodyBytes;
    const declared = <f64>d.contentLength;
    const scale = !d.complete && declared > seen && seen > 0 ? declared / seen : 1;
    d.promptBytes = (<f64>facts.promptBytes + <f64>facts.toolsBytes) * scale;
    d.fixedTokens =
      <f64>facts.tokenIds * scale +
      <f64>(facts.images + facts.audios) * <f64>this.config.cost.tokensPerImage;
  }

  /** A request whose body can't be read: only a session header tells anything. */
  unread(d: Decision): void {
    d.reason = Reason.Opaque;
    if (d.headerSessionHash == 0) return;
    d.key = mix(mix(0, d.tenantHash), d.headerSessionHash);
    d.tieKey = d.key;
    d.hasSession = true;
    d.conversationTag = anyModelTag(d.tenantHash, d.headerSessionHash);
  }

  /** Prompt and output tokens, by what was learned of the model. */
  estimate(d: Decision, nowMs: f64): void {
    const learned = this.fleet.learned;
    const cost = this.config.cost;
    let bytesPerToken = cost.bytesPerToken;
    let model = learned.find(ratioKey(d.modelHash, d.scriptBand), nowMs);
    // In a script that the model wasn't asked in yet, as in the commonest.
    if (model == 0 && d.scriptBand != 0) model = learned.find(ratioKey(d.modelHash, 0), nowMs);
    if (model != 0 && cost.learn && Learned.bytesPerToken(model) > 0) {
      bytesPerToken = Learned.bytesPerToken(model);
    }
    if (d.readable) {
      d.promptTokens = promptTokens(d.promptBytes, d.fixedTokens, bytesPerToken);
    } else {
      const declared = <f64>d.contentLength / bytesPerToken;
      d.promptTokens = declared > 0 ? Math.min(declared, OPAQUE_TOKENS_MAX) : OPAQUE_TOKENS;
    }
    let expected = <f64>cost.outputTokens;
    if (cost.learn) {
      if (model != 0) expected = meanOutput(Learned.output(model), expected, BROADER_WEIGHT);
      // As a prior for what this cap allows, too.
      if (d.outputCap > 0) expected = Math.min(expected, <f64>d.outputCap);
      const narrow = learned.find(outputKey(d), nowMs);
      if (narrow != 0) expected = meanOutput(Learned.output(narrow), expected, BROADER_WEIGHT);
    }
    if (d.outputCap > 0) expected = Math.min(expected, <f64>d.outputCap);
    d.outputTokens = Math.max(expected, 0) * <f64>d.answers;
  }
}

/** Tag of a session whatever its model. */
function anyModelTag(tenantHash: u64, session: u64): u64 {
  return mix(mix(tenantHash, session), ANY_MODEL_SALT);
}

/** Key of what is learned per model and script. */
export function ratioKey(modelHash: u64, scriptBand: u32): u64 {
  return mix(modelHash, RATIO_SALT + <u64>scriptBand);
}

/** Key of what is learned per model, API, and the bands of cap and prompt. */
export function outputKey(d: Decision): u64 {
  const bands = (capBand(d.outputCap) << 8) | promptBand(d.promptTokens);
  return mix(mix(mix(d.modelHash, d.apiHash), <u64>bands), OUTPUT_SALT);
}
