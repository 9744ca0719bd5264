import { Text } from "../bytes";
import { SharedResult, getShared, setShared } from "../host/shareddata";
import { outCas, outLen, outPtr } from "../host/memory";
import { LAYOUT_VERSION } from "./layout";

/** A value without a layout version is read as absent. */
const BLANK_BYTES: i32 = 4;

/** Compare-and-sets that ran out of attempts and were not yet published. */
let casGaveUp: i64 = 0;

/** Notes that a change was dropped after CAS_ATTEMPTS collisions. */
export function noteCasGaveUp(): void {
  casGaveUp++;
}

/** How many changes were dropped since this was asked last, by any root of this VM: internal errors. */
export function takeCasGaveUp(): i64 {
  const count = casGaveUp;
  casGaveUp = 0;
  return count;
}

/**
 * One shared-data value with a local copy of bounded size. Reading copies the shared value over the local one; writing is a
 * compare-and-set against the version read last.
 */
export class SharedRecord {
  /** Local copy; `capacity` bytes, zero where the shared value is shorter. */
  readonly bytes: usize;
  /** Bytes of the local copy that are in use. */
  size: i32 = 0;
  private cas: u32 = 0;

  /**
   * @param key shared-data key
   * @param capacity most bytes the value may have
   */
  constructor(
    public key: Text,
    public capacity: i32,
  ) {
    this.bytes = heap.alloc(capacity);
    memory.fill(this.bytes, 0, capacity);
  }

  /**
   * Makes sure that there is a value to compare with. A compare-and-set against nothing is none: of two workers that write a
   * first value at the same moment both would succeed, and one change be lost. Envoy configures the filter on its main thread
   * before there are workers, so that what every VM makes sure of when it is configured is there for all of them.
   */
  create(): void {
    if (getShared(this.key) != SharedResult.NotFound) return;
    setShared(this.key, this.bytes, BLANK_BYTES, 0);
  }

  /** Reads the shared value; false when absent, of another layout version or too long (the local copy is then all zero). */
  load(): bool {
    if (getShared(this.key) == SharedResult.Ok) {
      this.cas = outCas;
      const length = outLen;
      if (length >= 4 && length <= this.capacity && load<u32>(outPtr) == LAYOUT_VERSION) {
        memory.copy(this.bytes, outPtr, length);
        if (length < this.size) memory.fill(this.bytes + length, 0, this.size - length);
        this.size = length;
        return true;
      }
    } else {
      this.cas = 0;
    }
    memory.fill(this.bytes, 0, this.size);
    this.size = 0;
    return false;
  }

  /** Writes the first `size` bytes of the local copy if nobody wrote since the last load. */
  store(size: i32): SharedResult {
    this.size = size;
    store<u32>(this.bytes, LAYOUT_VERSION);
    return setShared(this.key, this.bytes, size, this.cas);
  }

  /** Writes whatever is there: for values with a single writer. */
  overwrite(size: i32): SharedResult {
    this.size = size;
    store<u32>(this.bytes, LAYOUT_VERSION);
    return setShared(this.key, this.bytes, size, 0);
  }
}
