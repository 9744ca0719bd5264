import { MAX_CANDIDATES } from "./limits";

/** Price of a host that is there for want of better ones, ms: more than any that counts. */
const LAST_MS: f64 = 1e7;

/**
 * What a choice may read of each host, one array a property (index = host slot), filled anew for each request. Unknown is
 * NaN, never zero. All times in ms, all shares 0..1.
 */
export class Candidates {
  /**
   * Whether hosts are asked for reports: then one that gives none may be as busy as any. Where reports only come with answers,
   * silence says nothing, and own accounting stands alone.
   */
  areAsked: bool = true;
  /** Slots 0 … count − 1 may be usable. */
  count: i32 = 0;
  /** 1 if the host may be chosen at all: known, not set aside, not unhealthy, serving the model if that is known. */
  readonly usable: StaticArray<u8> = new StaticArray<u8>(MAX_CANDIDATES);
  /** `Room` of admission, 0 none … 2 for all; only told apart where some host has room. */
  readonly room: StaticArray<u8> = new StaticArray<u8>(MAX_CANDIDATES);
  /** Identity for rendezvous hashing. */
  readonly hash: StaticArray<u64> = new StaticArray<u64>(MAX_CANDIDATES);
  /** Prompt tokens expected in the host's cache. */
  readonly cachedTokens: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Own accounting: prefill ms sent there and not done. */
  readonly pendingMs: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Own accounting: requests in flight there. */
  readonly inFlight: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Requests of others in the batch, and queued, as reported beyond own ones; NaN unknown. */
  readonly running: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  readonly waiting: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Reported shares; NaN unknown. */
  readonly kvUsage: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  readonly gpuUtilization: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Weight of the report, 1 fresh … 0 stale or none. */
  readonly freshness: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Learned factors over the priors, 1 while nothing was learned. */
  readonly prefillFactor: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  readonly decodeFactor: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** How full of past prompts the cache is: tokens ever inserted over capacity, at most 1. */
  readonly fill: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** What else speaks against the host, ms: an adapter to load, a start that is to be slow. */
  readonly surchargeMs: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);

  /** Place in this gateway's own order of hosts, 0 first … below 1; all 0 while it is alone. */
  readonly turn: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);

  // Results of `price`, kept to explain the choice.
  /** Expected wait before prefill starts. */
  readonly waitMs: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Expected prefill of the uncached part. */
  readonly prefillMs: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Total cost; what is chosen has the lowest. */
  readonly costMs: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);

  /** Puts a host, if it can be used, before all others, which keep no room. Before `price`. */
  putFirst(slot: i32): void {
    if (slot >= this.count || !unchecked(this.usable[slot])) return;
    for (let other = 0; other < this.count; other++) if (other != slot) this.putLast(other);
  }

  /** Puts a host behind all others, without room: for a further try, for nothing else. Before `price`. */
  putLast(slot: i32): void {
    unchecked((this.room[slot] = 0));
    unchecked((this.surchargeMs[slot] += LAST_MS));
  }
}
