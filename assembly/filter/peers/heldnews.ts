import { urgency } from "../../admission/queue";
import { Held } from "../../peers/held";
import { RowView } from "../../state/row";
import { Fleet } from "../fleet/fleet";
import { CURRENT_MS } from "../admission/turn";

/** Writes what this gateway's workers hold, and who is next of all that, into an update. */
export function tellHeld(at: usize, fleet: Fleet, nowMs: f64): void {
  const workers = fleet.inFlight.workers;
  const own = fleet.row.bytes;
  let held = RowView.held(own);
  let next: usize = held > 0 ? own : 0;
  let letGoMs = RowView.letGoMs(own);
  for (let i = 0, n = workers.count; i < n; i++) {
    const row = workers.holding(i, CURRENT_MS, nowMs);
    if (row == 0) continue;
    held += RowView.held(row);
    letGoMs = Math.max(letGoMs, RowView.letGoMs(row));
    if (next == 0 || isBefore(row, next, nowMs)) next = row;
  }
  Held.clear(at);
  if (next == 0) return;
  const waitedMs = nowMs - RowView.nextSinceMs(next);
  const workMs = RowView.nextWorkMs(next);
  const priority = RowView.nextPriority(next);
  Held.write(at, held, priority, RowView.nextTenant(next), workMs, waitedMs, nowMs - letGoMs);
}

function isBefore(a: usize, b: usize, nowMs: f64): bool {
  const priorityA = RowView.nextPriority(a);
  const priorityB = RowView.nextPriority(b);
  if (priorityA != priorityB) return priorityA > priorityB;
  const its = urgency(RowView.nextSinceMs(a), RowView.nextWorkMs(a), nowMs);
  return its > urgency(RowView.nextSinceMs(b), RowView.nextWorkMs(b), nowMs);
}
