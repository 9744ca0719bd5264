import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";
import { chatBodies } from "./bodies.ts";
import { type Load, runWrk } from "./wrk.ts";

/** Bodies written to a folder, for the load generator to read. */
export interface BodyFolder {
  folder: string;
  count: number;
  bytes: number;
  stream: boolean;
  remove(): void;
}

/** All bodies of a size together stay under this. */
const BODIES_BYTES = 32 * 1024 * 1024;

export function writeBodies(bytes: number, seed: number, stream: boolean): BodyFolder {
  const folder = mkdtempSync(join(tmpdir(), "warmroute-bodies-"));
  const count = Math.max(8, Math.min(256, Math.floor(BODIES_BYTES / bytes)));
  chatBodies(count, bytes, seed, stream).forEach((body, i) => {
    writeFileSync(join(folder, `${i}.json`), body);
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, count, bytes, stream, remove };
}

/** Posts bodies to a port over kept connections for some seconds, on one core. */
export function load(
  port: number,
  bodies: BodyFolder,
  options: { seconds: number; connections: number; core: number },
): Promise<Load> {
  return runWrk(port, join(ROOT, "tests", "bench", "load.lua"), {
    ...options,
    env: {
      BENCH_BODIES: bodies.folder,
      BENCH_COUNT: String(bodies.count),
      BENCH_STREAM: bodies.stream ? "1" : "0",
    },
  });
}
