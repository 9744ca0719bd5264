import { text } from "../bytes";
import { hashBytes } from "../prefix/hash";

/** Hashes of the values of `role` and `type` that matter. */
export const USER: u64 = hashOf("user");
export const TYPE_MESSAGE: u64 = hashOf("message");
export const TYPE_TEXT: u64 = hashOf("text");
const SYSTEM: u64 = hashOf("system");
const DEVELOPER: u64 = hashOf("developer");

/** Whether messages of this role instruct the model. */
export function isSystemRole(role: u64): bool {
  return role == SYSTEM || role == DEVELOPER;
}

function hashOf(word: string): u64 {
  const t = text(word);
  return hashBytes(t.ptr, t.len);
}
