import { Text } from "../bytes";
import { outLen, outPtr } from "../host/memory";
import { SharedResult, getShared } from "../host/shareddata";
import { Next } from "../peers/held";
import { Keys, setKeyIndex } from "./keys";
import { MAX_HOSTS, MAX_WORKERS, ROW_HEAD, ROW_RECORD } from "./layout";
import { SharedRecord } from "./record";
import { LoadBox } from "./loadbox";
import {
  RowView,
  SEQ,
  HEARTBEAT,
  INSTANCE,
  COUNT,
  HELD,
  HELD_BYTES,
  LOGGED,
  NEXT_PRIORITY,
  NEXT_TENANT,
  NEXT_SINCE,
  NEXT_WORK,
  LET_GO,
  LOWEST,
  NEXT,
  PROPOSED,
  SETTLED,
} from "./rowview";

/** A row whose worker has not written for this long is dead: its load counts no more, and another worker may take it. */
export const ROW_DEAD_MS: f64 = 5000;
/** A worker without changes rewrites its row this often; each looks this often whether its row is still its own. */
const HEARTBEAT_MS: f64 = 500;
/**
 * For so long after a claim each writing looks first: two workers that claim a row that never was can't see each other, for
 * Envoy takes any version for a value that is absent. The last one has it, and the other sees that before it writes again.
 */
const CLAIM_DOUBT_MS: f64 = 1000;

/**
 * What this worker has in flight per host, in a shared row that it alone writes. Rows are claimed at the first request and
 * renewed by a heartbeat; a row left by a dead worker keeps its clocks (they are parts of the hosts' token clocks) and loses
 * its load.
 */
export class WorkerRow {
  private key: Text;
  private record: SharedRecord;
  /** Row number, -1 while none is claimed. */
  index: i32 = -1;
  /** No other worker is about that would read what changes: it may wait for the next tick. */
  isLone: bool = false;
  /** Whether the row changed since it was last written. */
  private dirty: bool = false;
  private claimedMs: f64 = 0;
  /** When the row was last seen to be its own. */
  private seenMs: f64 = 0;

  /** @param instance random number of this VM, by which a row is known to be its own */
  constructor(
    keys: Keys,
    private instance: u64,
  ) {
    const key = keys.indexed("row", 0);
    this.key = key;
    this.record = new SharedRecord(key, ROW_HEAD + MAX_HOSTS * ROW_RECORD);
  }

  /** Row image, for the reader that adds rows up. */
  get bytes(): usize {
    return this.record.bytes;
  }

  /** Box of a host, of its present generation (load of an earlier host in the slot is dropped). */
  box(slot: i32, generation: u8): usize {
    const box = RowView.box(this.record.bytes, slot);
    if (slot >= RowView.count(this.record.bytes)) store<i32>(this.record.bytes + COUNT, slot + 1);
    if (LoadBox.generation(box) != generation) LoadBox.begin(box, generation);
    return box;
  }

  /** The worker holds so many more requests, and bytes of bodies, than before (or fewer). */
  hold(requests: i32, bodyBytes: f64, nowMs: f64): void {
    const bytes = this.record.bytes;
    const held = max(0, RowView.held(bytes) + requests);
    store<i32>(bytes + HELD, held);
    store<f64>(
      bytes + HELD_BYTES,
      held == 0 ? 0 : Math.max(0, RowView.heldBytes(bytes) + bodyBytes),
    );
    this.touch();
    this.publish(nowMs);
  }

  /** The journal has grown to so many changes. */
  setLogged(logged: u64): void {
    store<u64>(this.record.bytes + LOGGED, logged);
    this.touch();
  }

  /** Claims a row where there is none; false: all are taken. */
  ensure(nowMs: f64): bool {
    return this.index >= 0 || this.claim(nowMs);
  }

  /** Who goes next from the worker's queue; published with the next change or heartbeat, or by `publish`. */
  setNext(next: Next, priority: i32, tenant: u32, sinceMs: f64, workMs: f64): void {
    const bytes = this.record.bytes;
    store<u16>(bytes + NEXT, <u16>next);
    store<i32>(bytes + NEXT_PRIORITY, priority);
    store<u32>(bytes + NEXT_TENANT, tenant);
    store<f64>(bytes + NEXT_SINCE, sinceMs);
    store<f64>(bytes + NEXT_WORK, workMs);
    this.touch();
  }

  /** Nothing that the worker holds contends for room; published like `setNext`. */
  clearNext(): void {
    store<u16>(this.record.bytes + NEXT, <u16>Next.Nobody);
    this.touch();
  }

  /** The lowest priority that the worker holds; published like `setNext`. */
  setLowest(priority: i32): void {
    store<i16>(this.record.bytes + LOWEST, <i16>priority);
    this.touch();
  }

  /** The worker proposes a prompt, or has settled one; published with the next change. */
  propose(): void {
    store<u16>(this.record.bytes + PROPOSED, RowView.proposed(this.record.bytes) + 1);
    this.touch();
  }
  settle(): void {
    store<u16>(this.record.bytes + SETTLED, RowView.settled(this.record.bytes) + 1);
    this.touch();
  }

  /** The worker lets a held request go. */
  setLetGo(nowMs: f64): void {
    store<f64>(this.record.bytes + LET_GO, nowMs);
    this.touch();
  }

  /** Marks the row as changed. */
  touch(): void {
    this.dirty = true;
  }

  /** Publishes changes, unless nobody would read them before the next tick; claims a row first where there is none. */
  publish(nowMs: f64): void {
    if (!this.dirty || this.isLone) return;
    if (this.index >= 0 && nowMs - this.claimedMs < CLAIM_DOUBT_MS) this.look(nowMs);
    if (!this.ensure(nowMs)) return;
    this.write(nowMs);
  }

  /** Keeps the row alive; a worker that stood still for so long that its row was taken claims another. */
  heartbeat(nowMs: f64): void {
    if (this.index < 0) return;
    if (nowMs - this.seenMs >= HEARTBEAT_MS) this.look(nowMs);
    else if (!this.dirty) return;
    if (this.ensure(nowMs)) this.write(nowMs);
  }

  /** Looks whether the row is still this worker's; if not, it has none from now on. */
  private look(nowMs: f64): void {
    this.seenMs = nowMs;
    if (getShared(this.key) != SharedResult.Ok || outLen < ROW_HEAD) return;
    if (RowView.instance(outPtr) == this.instance) return;
    this.index = -1;
    this.dirty = true;
    this.isLone = false;
  }

  private write(nowMs: f64): void {
    const bytes = this.record.bytes;
    store<u32>(bytes + SEQ, load<u32>(bytes + SEQ) + 1);
    store<f64>(bytes + HEARTBEAT, nowMs);
    this.record.overwrite(ROW_HEAD + RowView.count(bytes) * ROW_RECORD);
    this.dirty = false;
  }

  /** Takes the first row that is free or dead, keeping its clocks. Own load counted before the claim is added to it. */
  private claim(nowMs: f64): bool {
    const size = ROW_HEAD + MAX_HOSTS * ROW_RECORD;
    const own = heap.alloc(size);
    memory.copy(own, this.record.bytes, size);
    const count = RowView.count(own);
    for (let index = 0; index < MAX_WORKERS; index++) {
      setKeyIndex(this.key, index);
      this.record.load();
      const bytes = this.record.bytes;
      const taken =
        RowView.instance(bytes) != 0 && nowMs - RowView.heartbeatMs(bytes) < ROW_DEAD_MS;
      if (taken) continue;
      const rows = max(count, RowView.count(bytes));
      for (let slot = 0; slot < rows; slot++) {
        const box = RowView.box(bytes, slot);
        const clock = LoadBox.clockTokens(box);
        if (slot < count) {
          memory.copy(box, RowView.box(own, slot), ROW_RECORD);
          LoadBox.advanceClock(box, clock);
        } else LoadBox.begin(box, 0);
      }
      store<i32>(bytes + COUNT, rows);
      store<i32>(bytes + HELD, RowView.held(own));
      store<f64>(bytes + HELD_BYTES, RowView.heldBytes(own));
      memory.copy(bytes + NEXT_PRIORITY, own + NEXT_PRIORITY, ROW_HEAD - NEXT_PRIORITY);
      store<u64>(bytes + INSTANCE, this.instance);
      store<f64>(bytes + HEARTBEAT, nowMs);
      if (this.record.store(ROW_HEAD + rows * ROW_RECORD) == SharedResult.Ok) {
        this.index = index;
        this.claimedMs = nowMs;
        this.seenMs = nowMs;
        heap.free(own);
        return true;
      }
    }
    memory.copy(this.record.bytes, own, size);
    heap.free(own);
    return false;
  }
}
