import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";
import { type Load, runWrk } from "../bench/wrk.ts";

/** Posts prompts of which none comes twice for some seconds, on one thread. */
export function postDistinct(
  port: number,
  options: { bytes: number; seconds: number; epoch: number; connections: number },
): Promise<Load> {
  const { bytes, epoch, ...rest } = options;
  return runWrk(port, join(ROOT, "tests", "soak", "distinct.lua"), {
    ...rest,
    env: { SOAK_BYTES: String(bytes), SOAK_EPOCH: String(epoch) },
  });
}
