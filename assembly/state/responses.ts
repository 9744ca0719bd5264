import { SharedResult } from "../host/shareddata";
import { Bucket, BucketCache } from "./bucket";
import { Keys } from "./keys";
import { BUCKET_ENTRIES, CAS_ATTEMPTS } from "./layout";
import { noteCasGaveUp } from "./record";

/** 512 buckets of 31: the last 15,872 answers at most, 256 KiB. */
const BUCKETS: u64 = 512;

/**
 * Which conversation an answer belonged to: response id → conversation key, so that a request with `previous_response_id`
 * continues its conversation. Buckets of the location table's form, entries (id hash 8, key 8), newest first.
 */
export class Responses {
  private cache: BucketCache;

  constructor(keys: Keys) {
    this.cache = new BucketCache(keys.indexed("resp", 0), 2);
  }

  /** Conversation key of an earlier answer's id, 0 if unknown. */
  find(idHash: u64): u64 {
    this.cache.clear();
    const bucket = this.cache.get(<i32>(idHash & (BUCKETS - 1)));
    for (let e = 0; e < BUCKET_ENTRIES; e++) {
      const entry = bucket.entry(e);
      if (Bucket.tag(entry) == idHash) return load<u64>(entry + 8);
    }
    return 0;
  }

  /** Notes an answer's id; the oldest of its bucket gives way. */
  note(idHash: u64, conversationKey: u64): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      this.cache.clear();
      const bucket = this.cache.get(<i32>(idHash & (BUCKETS - 1)));
      memory.copy(
        bucket.entry(1),
        bucket.entry(0),
        bucket.entry(BUCKET_ENTRIES - 1) - bucket.entry(0),
      );
      store<u64>(bucket.entry(0), idHash);
      store<u64>(bucket.entry(0) + 8, conversationKey);
      const result = this.cache.store(bucket);
      if (result != SharedResult.CasMismatch) return;
    }
    noteCasGaveUp();
  }
}
