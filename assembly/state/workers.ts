import { Text } from "../bytes";
import { outLen, outPtr } from "../host/memory";
import { SharedResult, getShared } from "../host/shareddata";
import { Keys, setKeyIndex } from "./keys";
import { LAYOUT_VERSION, MAX_HOSTS, MAX_WORKERS, ROW_HEAD, ROW_RECORD } from "./layout";
import { ROW_DEAD_MS, WorkerRow } from "./row";
import { RowView } from "./rowview";

/** Other rows read at each decision; of more workers than this the rows take turns … */
const ROWS_PER_DECISION: i32 = 4;
/**
 * … but all are read at the first decision in so long, ms: it bounds what many workers cost (0.7 µs a row, of 64 rows 5 % of a
 * worker), and what is older sends bursts to servers that are busy (Azure code before 64 servers, 32 workers: p50 / p90 / p99
 * 192 / 583 / 1,170 ms by turns alone, 130 / 417 / 876 with this, 121 / 417 / 896 with two workers).
 */
const ALL_ROWS_MS: f64 = 1;

/**
 * A worker that saw no other for so many decisions is taken to be the only one, as in an Envoy of one worker thread. What it
 * does is then told at ticks, not with each request, and looked for others is at ticks and at one decision in so many.
 */
const LONE_AFTER: i32 = 1000;
const LONE_PROBES: i32 = 16;

/** What one other worker's row said when it was read last. */
class OtherRow {
  seq: u32 = 0;
  heartbeatMs: f64 = 0;
  instance: u64 = 0;
  capacity: i32 = 0;
  bytes: usize = 0;
}

/** The other workers of this Envoy: their rows (row.ts) as of the last read, and whether there are any. */
export class Workers {
  private key: Text;
  private others: Array<OtherRow> = new Array<OtherRow>();
  /** Rows that exist, found by probing one past the last known. */
  private known: i32 = 0;
  private turn: i32 = 0;
  /** When all rows were read last, ms. */
  private allReadMs: f64 = 0;
  /** Decisions since another worker was about, up to LONE_AFTER; and since others were looked for. */
  private aloneFor: i32 = 0;
  private unprobed: i32 = 0;

  constructor(
    keys: Keys,
    private own: WorkerRow,
  ) {
    this.key = keys.indexed("row", 0);
  }

  /** Reads all rows. @returns whether any changed */
  readAll(nowMs: f64): bool {
    this.allReadMs = nowMs;
    let changed = false;
    for (let index = 0; index < this.known; index++) {
      if (index != this.own.index && this.read(index)) changed = true;
    }
    while (this.known < MAX_WORKERS && this.probe(this.known)) {
      this.known++;
      changed = true;
    }
    if (this.hasOthers(nowMs)) this.aloneFor = 0;
    this.own.isLone = this.aloneFor >= LONE_AFTER;
    return changed;
  }

  /** Reads the rows that are due: before each decision. @returns whether any changed */
  readSome(nowMs: f64): bool {
    if (this.own.isLone) {
      if (++this.unprobed < LONE_PROBES) return false;
      this.unprobed = 0;
    } else if (this.aloneFor < LONE_AFTER) this.aloneFor++;
    // A worker that just began is known from its first request on: what it placed counts at once.
    let changed = this.known < MAX_WORKERS && this.probe(this.known);
    if (changed) {
      this.known++;
      this.aloneFor = 0;
      this.own.isLone = false;
    }
    let most = ROWS_PER_DECISION;
    if (Math.abs(nowMs - this.allReadMs) >= ALL_ROWS_MS) {
      most = MAX_WORKERS;
      this.allReadMs = nowMs;
    }
    let reads = 0;
    for (let i = 0; i < this.known && reads < most; i++) {
      this.turn = this.turn + 1 >= this.known ? 0 : this.turn + 1;
      if (this.turn == this.own.index) continue;
      reads++;
      if (this.read(this.turn)) changed = true;
    }
    return changed;
  }

  /** Rows that are known, own one included: 0 … `count` − 1. */
  get count(): i32 {
    return this.known;
  }

  /** Image of a worker's row as it was read last; 0 for own one, and where there is none. */
  row(index: i32): usize {
    if (index == this.own.index || index >= this.others.length) return 0;
    return unchecked(this.others[index]).bytes;
  }

  /** Whether the worker of a row that there is has written within so many ms. */
  wroteWithin(index: i32, ms: f64, nowMs: f64): bool {
    return nowMs - unchecked(this.others[index]).heartbeatMs < ms;
  }

  /** Changes in the journal of another worker's row. */
  logged(index: i32): u64 {
    const row = this.row(index);
    return row != 0 ? RowView.logged(row) : 0;
  }

  /** Image of another worker's row, if requests are held there and it was written within so many ms; 0 otherwise. */
  holding(index: i32, withinMs: f64, nowMs: f64): usize {
    const row = this.row(index);
    return row != 0 && RowView.held(row) > 0 && this.wroteWithin(index, withinMs, nowMs) ? row : 0;
  }

  /** Whether any other worker is alive, as of the last read. */
  private hasOthers(nowMs: f64): bool {
    for (let index = 0; index < this.known; index++) {
      if (this.row(index) != 0 && this.wroteWithin(index, ROW_DEAD_MS, nowMs)) return true;
    }
    return false;
  }

  private probe(index: i32): bool {
    if (index == this.own.index) {
      this.ensure(index);
      return true;
    }
    return this.read(index);
  }

  private ensure(index: i32): OtherRow {
    while (this.others.length <= index) this.others.push(new OtherRow());
    return this.others[index];
  }

  /** Copies a row if it changed since it was read last. */
  private read(index: i32): bool {
    setKeyIndex(this.key, index);
    if (getShared(this.key) != SharedResult.Ok) return false;
    const length = outLen;
    if (length < ROW_HEAD || load<u32>(outPtr) != LAYOUT_VERSION) return false;
    const row = this.ensure(index);
    if (
      row.bytes != 0 &&
      row.seq == RowView.seq(outPtr) &&
      row.instance == RowView.instance(outPtr)
    ) {
      row.heartbeatMs = RowView.heartbeatMs(outPtr);
      return false;
    }
    if (length > row.capacity) {
      if (row.bytes != 0) heap.free(row.bytes);
      row.capacity = ROW_HEAD + MAX_HOSTS * ROW_RECORD;
      if (length > row.capacity) return false;
      row.bytes = heap.alloc(row.capacity);
    }
    memory.copy(row.bytes, outPtr, length);
    row.seq = RowView.seq(outPtr);
    row.instance = RowView.instance(outPtr);
    row.heartbeatMs = RowView.heartbeatMs(outPtr);
    return true;
  }
}
