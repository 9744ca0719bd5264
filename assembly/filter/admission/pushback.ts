import { HostStates } from "../../state/hoststates";
import { CAS_ATTEMPTS } from "../../state/layout";
import { noteCasGaveUp } from "../../state/record";

/** A server that asks to be left alone is for so long at most, s. */
const PUSH_BACK_MAX_S: f64 = 30;

/**
 * A server takes nothing for so many seconds (≤ 0: it didn't say).
 * @returns whether that is news, not what another request was told at the same time
 */
export function pushBack(states: HostStates, slot: i32, seconds: f64, now: f64): bool {
  const untilS = Math.ceil(now / 1000 + Math.min(Math.max(seconds, 1), PUSH_BACK_MAX_S));
  for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
    const record = states.open(slot);
    const before = <f64>record.pushedBackUntilS;
    if (before >= untilS) return false;
    record.pushedBackUntilS = <u32>untilS;
    if (states.commit(slot)) return before * 1000 <= now;
  }
  noteCasGaveUp();
  return false;
}
