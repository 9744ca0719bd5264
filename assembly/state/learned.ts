import { OUTPUT_BYTES } from "../cost/output";
import { Keys } from "./keys";
import { SharedRecord } from "./record";
import { SharedResult } from "../host/shareddata";

/** Records: bounded however many model names clients invent. */
const SLOTS: i32 = 256;
/** A key may sit in any of this many slots. */
const WAYS: i32 = 4;
/** Age at which a local copy is read again, ms. */
const REREAD_MS: f64 = 250;

const SAMPLES: i32 = 4;
const KEY: i32 = 8;
const USED_MS: i32 = 16;
const RATIO: i32 = 24;
const OUTPUT: i32 = 32;
const BYTES: i32 = OUTPUT + OUTPUT_BYTES;

/**
 * What was learned per model and script, and per (model, API, cap band, prompt band): bytes per token and answer lengths. Keys are hashes.
 *
 * ```
 * ┌──────────┬──────────┬──────┬────────────┬──────────────────┬──────────────────────┐
 * │version 4 │samples 4 │key 8 │used at ms 8│bytes per token 8 │ lengths (cost/output)│
 * └──────────┴──────────┴──────┴────────────┴──────────────────┴──────────────────────┘
 * ```
 */
export class Learned {
  private records: StaticArray<SharedRecord>;
  private readMs: StaticArray<f64> = new StaticArray<f64>(SLOTS);

  constructor(keys: Keys) {
    const records = new StaticArray<SharedRecord>(SLOTS);
    for (let i = 0; i < SLOTS; i++)
      records[i] = new SharedRecord(keys.indexed("learned", i), BYTES);
    this.records = records;
  }

  /** Record of a key as last read, 0 if there is none. The address stays valid until the next call. */
  find(key: u64, nowMs: f64): usize {
    for (let way = 0; way < WAYS; way++) {
      const slot = slotOf(key, way);
      const record = this.records[slot];
      if (nowMs - this.readMs[slot] > REREAD_MS || this.readMs[slot] > nowMs) {
        record.load();
        this.readMs[slot] = nowMs;
      }
      if (load<u64>(record.bytes + KEY) == key) return record.bytes;
    }
    return 0;
  }

  /** Slot to change for a key: its own, else the one used longest ago among its ways. Pass it to `open` and `commit`. */
  slotFor(key: u64, nowMs: f64): i32 {
    let oldest = slotOf(key, 0);
    let oldestMs: f64 = Infinity;
    for (let way = 0; way < WAYS; way++) {
      const slot = slotOf(key, way);
      const at = this.records[slot].bytes;
      if (load<u64>(at + KEY) == key) return slot;
      const usedMs = Learned.samples(at) == 0 ? 0 : Learned.usedMs(at);
      if (usedMs < oldestMs) {
        oldestMs = usedMs;
        oldest = slot;
      }
    }
    return oldest;
  }

  /** Reads the slot afresh as the base of a change, blank if it holds another key. */
  open(slot: i32, key: u64, nowMs: f64): usize {
    const record = this.records[slot];
    record.load();
    this.readMs[slot] = nowMs;
    const at = record.bytes;
    if (load<u64>(at + KEY) != key) {
      memory.fill(at, 0, BYTES);
      store<u64>(at + KEY, key);
    }
    store<f64>(at + USED_MS, nowMs);
    return at;
  }

  /** Writes the slot back; false when another worker wrote since `open`. */
  commit(slot: i32): bool {
    return this.records[slot].store(BYTES) != SharedResult.CasMismatch;
  }

  @inline
  static samples(at: usize): u32 {
    return load<u32>(at + SAMPLES);
  }
  @inline
  static setSamples(at: usize, v: u32): void {
    store<u32>(at + SAMPLES, v);
  }
  /** When it was changed last, ms. */
  @inline
  static usedMs(at: usize): f64 {
    return load<f64>(at + USED_MS);
  }
  /** Learned bytes per token, 0 for none. */
  @inline
  static bytesPerToken(at: usize): f64 {
    return load<f64>(at + RATIO);
  }
  @inline
  static setBytesPerToken(at: usize, v: f64): void {
    store<f64>(at + RATIO, v);
  }
  /** Address of the length histogram. */
  @inline
  static output(at: usize): usize {
    return at + OUTPUT;
  }
}

@inline
function slotOf(key: u64, way: i32): i32 {
  return <i32>((key >>> (<u64>way * 8)) & (SLOTS - 1));
}
