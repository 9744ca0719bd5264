/** Test entry: a request reader whose facts and chain can be asked for. */
import { Text, text } from "../../../assembly/bytes";
import { BodyFields } from "../../../assembly/body/fields";
import { RequestReader } from "../../../assembly/body/request";
import { hashBytes } from "../../../assembly/prefix/hash";
import { conversationKey } from "../../../assembly/prefix/key";

const CAPACITY: usize = 1 << 24;
const input = heap.alloc(CAPACITY);
const paths: Array<Text> = [
  text("previous_response_id"),
  text("conversation"),
  text("prompt_cache_key"),
  text("session_id"),
  text("metadata.session_id"),
  text("metadata.conversation_id"),
  text("metadata.user_id"),
];
const fields = new BodyFields(paths);
const reader = new RequestReader();
const facts = reader.facts;
const chain = reader.chain;

export function inputAddress(): usize {
  return input;
}
export function begin(): void {
  reader.begin(fields);
}
export function feed(offset: i32, len: i32): void {
  reader.feed(input + offset, len);
}
export function finish(isTruncated: bool): i32 {
  reader.finish(isTruncated);
  return <i32>facts.status;
}
/** Seals under `seed` and gives the number of boundaries. */
export function seal(seed: u64, mediaTokens: u32): i32 {
  reader.seal(seed, mediaTokens);
  return chain.length;
}
export function idAt(i: i32): u64 {
  return chain.ids[i];
}
export function bytesAt(i: i32): u32 {
  return chain.bytes[i];
}
export function fixedAt(i: i32): u32 {
  return chain.fixedTokens[i];
}
/** The conversation under `seed`; by its content alone, if `session` is 0. */
export function conversation(seed: u64, session: u64): u64 {
  return conversationKey(seed, session, facts.toolsHash, facts.systemHash, facts.firstUserHash);
}
export function hashOf(offset: i32, len: i32): u64 {
  return hashBytes(input + offset, len);
}
export function modelPtr(): usize {
  return facts.modelPtr;
}
export function modelLen(): i32 {
  return facts.modelLen;
}
export function modelHash(): u64 {
  return facts.modelHash;
}
export function stream(): bool {
  return facts.stream;
}
export function outputCap(): u32 {
  return facts.outputCap;
}
export function answers(): u32 {
  return facts.n;
}
export function bestOf(): u32 {
  return facts.bestOf;
}
export function promptCodePoints(): u32 {
  return facts.promptCodePoints;
}
export function promptBytes(): u32 {
  return facts.promptBytes;
}
export function tokenIds(): u32 {
  return facts.tokenIds;
}
export function images(): u32 {
  return facts.images;
}
export function audios(): u32 {
  return facts.audios;
}
export function prompts(): u32 {
  return facts.prompts;
}
export function toolsBytes(): u32 {
  return facts.toolsBytes;
}
export function hasTools(): bool {
  return facts.toolsHash != 0;
}
export function toolsHash(): u64 {
  return facts.toolsHash;
}
export function systemHash(): u64 {
  return facts.systemHash;
}
export function firstUserHash(): u64 {
  return facts.firstUserHash;
}
export function sessionHash(): u64 {
  return facts.sessionHash;
}
export function sessionRank(): i32 {
  return facts.sessionRank;
}
export function sessionIsResponseId(): bool {
  return facts.sessionIsResponseId;
}
export function previousResponseIdHash(): u64 {
  return facts.previousResponseIdHash;
}
export function userHash(): u64 {
  return facts.userHash;
}
export function cacheSaltHash(): u64 {
  return facts.cacheSaltHash;
}
export function adapterHash(): u64 {
  return facts.adapterHash;
}
export function nonceBytes(): u32 {
  return facts.nonceBytes;
}
