import { Text, text } from "../bytes";
import { hashBytes, mix } from "../prefix/hash";

const PURPOSE = text("warmroute peers");

/**
 * By what gateways notice that their `affinity.hash_secret`s differ; 0 for none. 16 bits: that two secrets look alike is
 * unlikely enough for a warning, and whoever sees the mark can't confirm a guessed secret by it.
 */
export function secretMark(secret: Text): u16 {
  if (secret.len == 0) return 0;
  const hash = mix(hashBytes(secret.ptr, secret.len), hashBytes(PURPOSE.ptr, PURPOSE.len));
  return max(<u16>(hash >> 48), 1);
}
