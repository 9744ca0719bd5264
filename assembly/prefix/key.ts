import { mix } from "./hash";

const SESSION_SALT: u64 = 0x5e55_1035_0000_0001;
const CONTENT_SALT: u64 = 0xc097_e972_0000_0002;

/**
 * The conversation that a request belongs to: its session if it has one (`session` other than 0),
 * else tools, system and first user message, so that it stays the same as turns are added.
 * @param seed hash of model, adapter, cache salt and tenant
 */
export function conversationKey(
  seed: u64,
  session: u64,
  toolsHash: u64,
  systemHash: u64,
  firstUserHash: u64,
): u64 {
  if (session != 0) return mix(mix(seed, SESSION_SALT), session);
  const content = mix(mix(toolsHash, systemHash), firstUserHash);
  return mix(mix(seed, CONTENT_SALT), content);
}
