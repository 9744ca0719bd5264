import { SharedResult } from "../host/shareddata";
import { Text } from "../bytes";
import { Keys, setKeyIndex } from "./keys";
import { CAS_ATTEMPTS } from "./layout";
import { SharedRecord, noteCasGaveUp } from "./record";

/** 512 buckets of 31: the last 15,872 answers at most, 256 KiB. */
const BUCKETS: u64 = 512;
const ENTRIES: i32 = 31;
const HEAD: i32 = 8;
const ENTRY: i32 = 16;
const BYTES: i32 = HEAD + ENTRIES * ENTRY;

/**
 * Which conversation an answer belonged to: response id → conversation key, so that a request with `previous_response_id`
 * continues its conversation. A value for each bucket of ids, the newest first in it:
 *
 * ```
 * ┌──────────┬─────┐ ┌─────────┬──────┐
 * │version 4 │  4  │ │id hash 8│key 8 │ …
 * └──────────┴─────┘ └─────────┴──────┘
 * ```
 */
export class Responses {
  private key: Text;
  private record: SharedRecord;

  constructor(keys: Keys) {
    const key = keys.indexed("resp", 0);
    this.key = key;
    this.record = new SharedRecord(key, BYTES);
  }

  /** Conversation key of an earlier answer's id, 0 if unknown. */
  find(idHash: u64): u64 {
    const first = this.load(idHash);
    for (let entry = first; entry < first + ENTRIES * ENTRY; entry += ENTRY) {
      if (load<u64>(entry) == idHash) return load<u64>(entry + 8);
    }
    return 0;
  }

  /** Notes an answer's id; the oldest of its bucket gives way. */
  note(idHash: u64, conversationKey: u64): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const first = this.load(idHash);
      memory.copy(first + ENTRY, first, (ENTRIES - 1) * ENTRY);
      store<u64>(first, idHash);
      store<u64>(first + 8, conversationKey);
      if (this.record.store(BYTES) != SharedResult.CasMismatch) return;
    }
    noteCasGaveUp();
  }

  /** Reads an id's bucket; returns the address of its first entry. */
  private load(idHash: u64): usize {
    setKeyIndex(this.key, <i32>(idHash & (BUCKETS - 1)));
    this.record.load();
    return this.record.bytes + HEAD;
  }
}
