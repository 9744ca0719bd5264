import { urgency } from "../../admission/queue";
import { Held, Next } from "../../peers/held";
import { RowView } from "../../state/rowview";
import { Fleet } from "../fleet/fleet";
import { CURRENT_MS } from "../admission/turn";

/** Writes what this gateway's workers hold, and who is next of all that, into an update. */
export function tellHeld(at: usize, fleet: Fleet, nowMs: f64): void {
  const workers = fleet.inFlight.workers;
  const own = fleet.row.bytes;
  let held = RowView.held(own);
  let next: usize = RowView.next(own) != Next.Nobody ? own : 0;
  let letGoMs = RowView.letGoMs(own);
  for (let i = 0, n = workers.count; i < n; i++) {
    const row = workers.holding(i, CURRENT_MS, nowMs);
    if (row == 0) continue;
    held += RowView.held(row);
    letGoMs = Math.max(letGoMs, RowView.letGoMs(row));
    if (RowView.next(row) == Next.Nobody) continue;
    if (next == 0 || isBefore(row, next, nowMs)) next = row;
  }
  Held.clear(at);
  Held.setCount(at, held);
  if (next == 0) return;
  Held.setNext(at, RowView.next(next), RowView.nextPriority(next), RowView.nextTenant(next));
  const waitedMs = nowMs - RowView.nextSinceMs(next);
  Held.setTimes(at, RowView.nextWorkMs(next), waitedMs, nowMs - letGoMs);
}

/** Light ones come before heavy ones, as in a worker's own queue. */
function isBefore(a: usize, b: usize, nowMs: f64): bool {
  const kindA = RowView.next(a);
  const kindB = RowView.next(b);
  if (kindA != kindB) return kindA == Next.Light;
  const priorityA = RowView.nextPriority(a);
  const priorityB = RowView.nextPriority(b);
  if (priorityA != priorityB) return priorityA > priorityB;
  const its = urgency(RowView.nextSinceMs(a), RowView.nextWorkMs(a), nowMs);
  return its > urgency(RowView.nextSinceMs(b), RowView.nextWorkMs(b), nowMs);
}
