import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";

export { wait };

/** Waits until a condition holds, long enough for a busy machine; in milliseconds how long that took. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs = 60_000,
): Promise<number> {
  const started = performance.now();
  while (!(await holds())) {
    if (performance.now() - started > limitMs) assert.fail(`in vain for ${what}`);
    await wait(25);
  }
  return performance.now() - started;
}
