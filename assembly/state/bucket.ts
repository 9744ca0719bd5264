import { Text } from "../bytes";
import { outCas, outLen, outPtr } from "../host/memory";
import { SharedResult, getShared, setShared } from "../host/shareddata";
import { setKeyIndex } from "./keys";
import { BUCKET_BYTES, BUCKET_ENTRIES, BUCKET_ENTRY, BUCKET_HEAD, LAYOUT_VERSION } from "./layout";

/** One bucket, wherever its bytes are; of a copy of a shared one also the version it was read at. */
@final
export class Bucket {
  /** Bucket number, −1 while unused. */
  number: i32 = -1;
  cas: u32 = 0;

  constructor(public bytes: usize) {}

  /** Address of entry `e`, 0 ≤ e < BUCKET_ENTRIES. */
  @inline
  entry(e: i32): usize {
    return this.bytes + BUCKET_HEAD + <usize>e * BUCKET_ENTRY;
  }

  /** Empties every entry with this tag. */
  clear(tag: u64): void {
    for (let e = 0; e < BUCKET_ENTRIES; e++) {
      const entry = this.entry(e);
      if (Bucket.tag(entry) == tag) Bucket.write(entry, 0, 0, 0, 0, 0);
    }
  }

  /** Whether no other entry has this one's tag. */
  isAlone(entry: usize, tag: u64): bool {
    for (let e = 0; e < BUCKET_ENTRIES; e++) {
      const other = this.entry(e);
      if (other != entry && Bucket.tag(other) == tag) return false;
    }
    return true;
  }

  @inline
  static tag(entry: usize): u64 {
    return load<u64>(entry);
  }
  @inline
  static stamp(entry: usize): u32 {
    return load<u32>(entry + 8);
  }
  @inline
  static slot(entry: usize): i32 {
    return <i32>load<u16>(entry + 12);
  }
  @inline
  static generation(entry: usize): u8 {
    return load<u8>(entry + 14);
  }
  /** Conversations that left this prefix by a way of their own, up to 255. */
  @inline
  static forks(entry: usize): i32 {
    return <i32>load<u8>(entry + 15);
  }

  /** Writes a whole entry; `forks` is cut at 255. */
  static write(entry: usize, tag: u64, stamp: u32, slot: i32, generation: u8, forks: i32): void {
    store<u64>(entry, tag);
    store<u32>(entry + 8, stamp);
    store<u16>(entry + 12, <u16>slot);
    store<u8>(entry + 14, generation);
    store<u8>(entry + 15, <u8>min(forks, 255));
  }
}

/** The buckets read for the request at hand, so that writing needs no second read. */
export class BucketCache {
  private buckets: StaticArray<Bucket>;
  private used: i32 = 0;
  private next: i32 = 0;

  /** @param key indexed key of the buckets  @param size buckets kept */
  constructor(
    private key: Text,
    size: i32,
  ) {
    const buckets = new StaticArray<Bucket>(size);
    for (let i = 0; i < size; i++) buckets[i] = new Bucket(heap.alloc(BUCKET_BYTES));
    this.buckets = buckets;
  }

  /** Forgets all copies: before each request. */
  clear(): void {
    for (let i = 0; i < this.used; i++) unchecked(this.buckets[i]).number = -1;
    this.used = 0;
    this.next = 0;
  }

  /** Forgets one copy, after a collision. */
  forget(number: i32): void {
    for (let i = 0; i < this.used; i++) {
      const bucket = unchecked(this.buckets[i]);
      if (bucket.number == number) bucket.number = -1;
    }
  }

  /** The bucket, read from shared data unless a copy is here; all zero where there is none yet. */
  get(number: i32): Bucket {
    for (let i = 0; i < this.used; i++) {
      const bucket = unchecked(this.buckets[i]);
      if (bucket.number == number) return bucket;
    }
    const size = this.buckets.length;
    if (this.next >= size) this.next = 0;
    const bucket = unchecked(this.buckets[this.next++]);
    if (this.used < this.next) this.used = this.next;
    this.fill(bucket, number);
    return bucket;
  }

  /** Writes a bucket back if nobody else did since it was read. */
  store(bucket: Bucket): SharedResult {
    setKeyIndex(this.key, bucket.number);
    store<u32>(bucket.bytes, LAYOUT_VERSION);
    const result = setShared(this.key, bucket.bytes, BUCKET_BYTES, bucket.cas);
    // The version after a write isn't returned: read again before the next change.
    if (result == SharedResult.Ok) bucket.number = -1;
    return result;
  }

  private fill(bucket: Bucket, number: i32): void {
    bucket.number = number;
    bucket.cas = 0;
    setKeyIndex(this.key, number);
    if (getShared(this.key) == SharedResult.Ok) {
      bucket.cas = outCas;
      if (outLen == BUCKET_BYTES && load<u32>(outPtr) == LAYOUT_VERSION) {
        memory.copy(bucket.bytes, outPtr, BUCKET_BYTES);
        return;
      }
    }
    memory.fill(bucket.bytes, 0, BUCKET_BYTES);
  }
}
