import { SAME_STEP_MS } from "../cost/speed";
import { HostDirectory } from "./hosts";
import { MAX_HOSTS } from "./layout";
import { WorkerRow } from "./row";
import { RowView } from "./rowview";
import { LoadBox } from "./loadbox";

/**
 * Changes of this worker's row as its requests go through their stages: sent → first token → finished. Each stage is
 * entered once a request, so counts can't leak or go below zero.
 *
 * The queue of a host is kept as `work` (Σ expected prefill ms of the waiting) and `newest`, with finish time
 * fin = newest + work: sending makes fin = max(now, fin) + its work, a first token makes fin = now + work of the rest. While a
 * streamed answer is awaited, `newest` is the last time at which that host is known to have got on.
 */
export class Account {
  /** By slot: the last first token of this worker's requests there, or when the first of those that wait was sent, ms. */
  private silentSinceMs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);

  constructor(
    private hosts: HostDirectory,
    private row: WorkerRow,
  ) {}

  /**
   * A request goes to a host.
   * @param workMs its expected prefill there  @param insertedTokens what it adds to the host's cache
   * @param isStream its answer is to be streamed
   * @param sinceMs since when the host is on with what others have waiting there (`InFlight.othersNewestMs`), now if nothing
   */
  sent(
    slot: i32,
    workMs: f64,
    insertedTokens: f64,
    isStream: bool,
    sinceMs: f64,
    nowMs: f64,
  ): void {
    const box = this.box(slot);
    const waiting = LoadBox.waiting(box);
    const work = waiting > 0 ? LoadBox.workMs(box) : 0;
    if (waiting == 0) unchecked((this.silentSinceMs[slot] = nowMs));
    const streams = LoadBox.streams(box);
    // A queue that is late stays so: what comes later doesn't make what was sent before any faster.
    if (streams == 0) {
      const newestMs = waiting > 0 ? Math.max(LoadBox.newestMs(box), sinceMs) : sinceMs;
      const finish = waiting > 0 ? LoadBox.newestMs(box) + work : 0;
      this.setWaiting(box, waiting + 1, Math.max(0, finish - newestMs) + workMs);
      LoadBox.setNewestMs(box, newestMs);
    } else this.setWaiting(box, waiting + 1, work + workMs);
    if (isStream) LoadBox.setStreams(box, streams + 1);
    LoadBox.advanceClock(box, insertedTokens);
    this.row.touch();
    this.row.publish(nowMs);
  }

  /** The first token of a request arrived: it decodes from here. @param contextTokens its prompt */
  firstToken(
    slot: i32,
    generation: u8,
    workMs: f64,
    isStream: bool,
    contextTokens: f64,
    nowMs: f64,
  ): void {
    const box = this.present(slot, generation);
    if (box == 0) return;
    unchecked((this.silentSinceMs[slot] = nowMs));
    const isSameStep = nowMs - LoadBox.newestMs(box) < SAME_STEP_MS;
    LoadBox.setLastPrefillMs(box, isSameStep ? LoadBox.lastPrefillMs(box) + workMs : workMs);
    this.leaveQueue(box, workMs, isStream, true, nowMs);
    LoadBox.setDecoding(box, LoadBox.decoding(box) + 1);
    LoadBox.setContextTokens(box, LoadBox.contextTokens(box) + contextTokens);
    this.row.touch();
    this.row.publish(nowMs);
  }

  /** A request left before its first token: failed, aborted, or moved to another host. */
  leftQueue(slot: i32, generation: u8, workMs: f64, isStream: bool, nowMs: f64): void {
    const box = this.present(slot, generation);
    if (box == 0) return;
    this.leaveQueue(box, workMs, isStream, false, nowMs);
    this.row.touch();
    this.row.publish(nowMs);
  }

  /** A request that was counted but never sent is counted no more; published with what is counted next. */
  withdrawn(slot: i32, generation: u8, workMs: f64, isStream: bool, nowMs: f64): void {
    const box = this.present(slot, generation);
    if (box == 0) return;
    this.leaveQueue(box, workMs, isStream, false, nowMs);
    this.row.touch();
  }

  /** A request's whole answer came at once. @param outputTokens what it adds to the host's cache */
  answered(
    slot: i32,
    generation: u8,
    workMs: f64,
    isStream: bool,
    outputTokens: f64,
    nowMs: f64,
  ): void {
    const box = this.present(slot, generation);
    if (box == 0) return;
    unchecked((this.silentSinceMs[slot] = nowMs));
    // When its prefill ended doesn't show.
    LoadBox.setLastPrefillMs(box, 0);
    this.leaveQueue(box, workMs, isStream, true, nowMs);
    LoadBox.advanceClock(box, outputTokens);
    this.row.touch();
    this.row.publish(nowMs);
  }

  /**
   * A decoding request ended.
   * @param contextTokens as given to `firstToken`  @param outputTokens what its answer adds to the host's cache
   */
  finished(slot: i32, generation: u8, contextTokens: f64, outputTokens: f64, nowMs: f64): void {
    const box = this.present(slot, generation);
    if (box == 0) return;
    const decoding = max(0, LoadBox.decoding(box) - 1);
    LoadBox.setDecoding(box, decoding);
    const context = decoding == 0 ? 0 : Math.max(0, LoadBox.contextTokens(box) - contextTokens);
    LoadBox.setContextTokens(box, context);
    LoadBox.advanceClock(box, outputTokens);
    this.row.touch();
    this.row.publish(nowMs);
  }

  /** For how long this worker's requests have waited at a host while none of them got a first token, ms; 0: none waits. */
  silentMs(slot: i32, nowMs: f64): f64 {
    if (this.queuedWorkMs(slot) < 0) return 0;
    return Math.max(0, nowMs - unchecked(this.silentSinceMs[slot]));
  }

  /** Expected prefill of this worker's requests that wait at a host, however long they have, ms; −1: none waits. */
  queuedWorkMs(slot: i32): f64 {
    const box = this.present(slot, this.hosts.generation(slot));
    return box != 0 && LoadBox.waiting(box) > 0 ? LoadBox.workMs(box) : -1;
  }

  private box(slot: i32): usize {
    return this.row.box(slot, this.hosts.generation(slot));
  }

  /** The box if it still belongs to the host that the request was counted on. */
  private present(slot: i32, generation: u8): usize {
    if (slot < 0 || slot >= RowView.count(this.row.bytes)) return 0;
    const box = RowView.box(this.row.bytes, slot);
    return LoadBox.generation(box) == generation ? box : 0;
  }

  /** @param gotOn the host is done with it; else it was taken away, which says nothing of the host */
  private leaveQueue(box: usize, workMs: f64, isStream: bool, gotOn: bool, nowMs: f64): void {
    const waiting = max(0, LoadBox.waiting(box) - 1);
    const before = LoadBox.workMs(box);
    const gone = isStream || !gotOn || LoadBox.streams(box) > 0 ? workMs : 0;
    const work = waiting == 0 ? 0 : Math.max(0, before - gone);
    this.setWaiting(box, waiting, work);
    if (isStream) LoadBox.setStreams(box, max(0, LoadBox.streams(box) - 1));
    if (!gotOn) return;
    if (isStream) LoadBox.setNewestMs(box, nowMs);
    else {
      // An answer in one piece was prefilled long before it came: when the queue ends stays as it was.
      LoadBox.setNewestMs(box, Math.min(nowMs, LoadBox.newestMs(box) + before - work));
    }
  }

  private setWaiting(box: usize, waiting: i32, workMs: f64): void {
    LoadBox.setWaiting(box, waiting);
    LoadBox.setWorkMs(box, workMs);
  }
}
