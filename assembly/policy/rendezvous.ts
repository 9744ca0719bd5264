import { mix } from "../prefix/hash";

/**
 * Rendezvous (highest random weight) hashing: every gateway, worker and restart gives the same order of hosts for a key, and a
 * host that leaves moves only its own keys.
 *
 * @returns 0 ≤ score < 1, uniform over hosts; the highest is the key's home
 */
@inline
export function rendezvous(key: u64, host: u64): f64 {
  return <f64>(mix(key, host) >>> 11) * (1.0 / 9007199254740992.0);
}
