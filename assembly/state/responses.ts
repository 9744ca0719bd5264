import { SharedResult } from "../host/shareddata";
import { Text } from "../bytes";
import { Keys, setKeyIndex } from "./keys";
import { CAS_ATTEMPTS } from "./layout";
import { SharedRecord, noteCasGaveUp } from "./record";

/** 512 buckets of 31: the last 15,872 answers at most, 376 KiB. */
const BUCKETS: u64 = 512;
const ENTRIES: i32 = 31;
const HEAD: i32 = 8;
const ENTRY: i32 = 24;
const BYTES: i32 = HEAD + ENTRIES * ENTRY;

/**
 * Which conversation an answer belonged to, and which server gave it, by the answer's id: so that a request that refers to it
 * continues its conversation, at the server that has stored it. A value for each bucket of ids, the newest first in it:
 *
 * ```
 * ┌──────────┬─────┐ ┌─────────┬────────────────┬───────────────┐
 * │version 4 │  4  │ │  tag 8  │ conversation 8 │address hash 8 │ …
 * └──────────┴─────┘ └─────────┴────────────────┴───────────────┘
 * ```
 */
export class Responses {
  private key: Text;
  private record: SharedRecord;
  /** Of the answer that was found last: the key of its conversation (0 for none), and the hash of its server's address. */
  conversation: u64 = 0;
  server: u64 = 0;

  constructor(keys: Keys) {
    const key = keys.indexed("resp", 0);
    this.key = key;
    this.record = new SharedRecord(key, BYTES);
  }

  /**
   * Looks an earlier answer up.
   * @param tag hash of its id, and of the tenant that it was for
   * @returns whether it is known; `conversation` and `server` tell of it
   */
  find(tag: u64): bool {
    const first = this.load(tag);
    for (let entry = first; entry < first + ENTRIES * ENTRY; entry += ENTRY) {
      if (load<u64>(entry) != tag) continue;
      this.conversation = load<u64>(entry + 8);
      this.server = load<u64>(entry + 16);
      return true;
    }
    return false;
  }

  /** Notes an answer; the oldest of its bucket gives way. */
  note(tag: u64, conversation: u64, server: u64): void {
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const first = this.load(tag);
      memory.copy(first + ENTRY, first, (ENTRIES - 1) * ENTRY);
      store<u64>(first, tag);
      store<u64>(first + 8, conversation);
      store<u64>(first + 16, server);
      if (this.record.store(BYTES) != SharedResult.CasMismatch) return;
    }
    noteCasGaveUp();
  }

  /** Reads a tag's bucket; returns the address of its first entry. */
  private load(tag: u64): usize {
    setKeyIndex(this.key, <i32>(tag & (BUCKETS - 1)));
    this.record.load();
    return this.record.bytes + HEAD;
  }
}
