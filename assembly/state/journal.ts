import { Text } from "../bytes";
import { outLen, outPtr } from "../host/memory";
import { SharedResult, getShared, setShared } from "../host/shareddata";
import { ENTRY_BYTES, Entry } from "./entry";
import { Keys, setKeyIndex } from "./keys";
import { LAYOUT_VERSION, MAX_WORKERS, SEGMENT_CHANGES, SEGMENT_HEAD, SEGMENTS } from "./layout";
import { WorkerRow } from "./row";
import { RowView } from "./rowview";
import { Workers } from "./workers";

const COUNT: i32 = 4;
const NUMBER: i32 = 8;
const SEGMENT_BYTES: i32 = SEGMENT_HEAD + SEGMENT_CHANGES * ENTRY_BYTES;
/** The oldest segment may be written over while it is read. */
const RETAINED: u64 = <u64>(SEGMENTS - 1) * SEGMENT_CHANGES;

/** What a change says; in the upper bits of its slot. */
export const enum Change {
  /** The tag is at this host. */
  Note = 0,
  /** It is at this host only. */
  Move = 1,
  /** It is not at this host. */
  Drop = 2,
}
const KIND_SHIFT: i32 = 12;
const SLOT_MASK: i32 = (1 << KIND_SHIFT) - 1;

/** Takes other workers' changes over. */
export abstract class ChangeSink {
  abstract apply(kind: Change, tag: u64, stamp: u32, slot: i32, generation: u8, forks: i32): void;
}

/**
 * How workers' location tables stay alike: each writes what it changes into a journal in shared data, which it alone writes,
 * and reads the others'. A row of the in-flight table (row.ts) says how far its journal goes, so that looking there is all it
 * takes to know that there is nothing new.
 */
export class Journal {
  private key: Text;
  private segment: usize = heap.alloc(SEGMENT_BYTES);
  /** Changes in the segment under way, and how many of them others can see. */
  private count: i32 = 0;
  private told: i32 = 0;
  /** Its number, in the journal of this row. */
  private number: u64 = 0;
  private rowIndex: i32 = -1;
  /** By row: changes that were taken over. */
  private seen: StaticArray<u64> = new StaticArray<u64>(MAX_WORKERS);
  /** Changes that an earlier worker of this row left. */
  private inherited: u64 = 0;

  constructor(
    keys: Keys,
    private row: WorkerRow,
  ) {
    this.key = keys.indexed("log", 0);
  }

  /** Adds a change of this worker's own table. */
  add(kind: Change, tag: u64, stamp: u32, slot: i32, generation: u8, forks: i32): void {
    if (this.count >= SEGMENT_CHANGES) {
      this.flush();
      this.count = 0;
      this.told = 0;
      this.number++;
    }
    const at = this.segment + <usize>(SEGMENT_HEAD + this.count++ * ENTRY_BYTES);
    Entry.write(at, tag, stamp, slot | (kind << KIND_SHIFT), generation, forks);
  }

  /** Lets the others see what was added, with the next writing of the row; while there are none that waits for a tick. */
  publish(nowMs: f64): void {
    if (!this.row.isLone) this.tell(nowMs);
  }

  /** The same at a tick, whoever is there to see it. */
  tell(nowMs: f64): void {
    // What was told in a row that turned out to be another worker's is told again.
    const isTold = this.told == this.count && this.row.index == this.rowIndex;
    if (this.count == 0 || isTold || !this.row.ensure(nowMs)) return;
    this.flush();
  }

  /** Takes over what other workers changed since the last call, as far as their rows are known. */
  read(workers: Workers, sink: ChangeSink): void {
    const own = this.row.index;
    if (own >= 0 && own != this.rowIndex) this.take(own);
    for (let index = 0; index < workers.count; index++) {
      const logged = index == own ? this.inherited : workers.logged(index);
      if (logged != unchecked(this.seen[index])) this.readRow(index, logged, sink);
    }
  }

  private flush(): void {
    const index = this.row.index;
    if (index < 0) return;
    if (index != this.rowIndex) this.take(index);
    const segment = this.segment;
    store<u32>(segment, LAYOUT_VERSION);
    store<i32>(segment + COUNT, this.count);
    store<u64>(segment + NUMBER, this.number);
    this.pointAt(index, this.number);
    setShared(this.key, segment, SEGMENT_HEAD + this.count * ENTRY_BYTES, 0);
    this.told = this.count;
    this.row.setLogged(this.number * SEGMENT_CHANGES + this.count);
  }

  /** The worker has a row: its journal goes on behind the last segment that is there. */
  private take(index: i32): void {
    this.rowIndex = index;
    this.inherited = RowView.logged(this.row.bytes);
    this.number = (this.inherited + SEGMENT_CHANGES - 1) / SEGMENT_CHANGES;
    unchecked((this.seen[index] = 0));
  }

  private readRow(index: i32, logged: u64, sink: ChangeSink): void {
    const seen = unchecked(this.seen[index]);
    const kept = logged > RETAINED ? logged - RETAINED : 0;
    let at = max(seen <= logged ? seen : 0, kept);
    unchecked((this.seen[index] = logged));
    while (at < logged) {
      const number = at / SEGMENT_CHANGES;
      this.pointAt(index, number);
      const first = <i32>(at - number * SEGMENT_CHANGES);
      if (getShared(this.key) == SharedResult.Ok) apply(number, first, sink);
      at = (number + 1) * SEGMENT_CHANGES;
    }
  }

  private pointAt(index: i32, number: u64): void {
    setKeyIndex(this.key, index * SEGMENTS + <i32>(number % SEGMENTS));
  }
}

/** Takes over a segment that was just read, from a change on; one that is another by now, or damaged, is passed over. */
function apply(number: u64, first: i32, sink: ChangeSink): void {
  const segment = outPtr;
  if (outLen < SEGMENT_HEAD || load<u32>(segment) != LAYOUT_VERSION) return;
  if (load<u64>(segment + NUMBER) != number) return;
  const count = min(load<i32>(segment + COUNT), (outLen - SEGMENT_HEAD) / ENTRY_BYTES);
  for (let i = first; i < count; i++) {
    const at = segment + <usize>(SEGMENT_HEAD + i * ENTRY_BYTES);
    const place = Entry.slot(at);
    sink.apply(
      <Change>(place >> KIND_SHIFT),
      Entry.tag(at),
      Entry.stamp(at),
      place & SLOT_MASK,
      Entry.generation(at),
      Entry.forks(at),
    );
  }
}
