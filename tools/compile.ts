import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { DEBUG_WASM, GIVEN_WASM, ROOT, WASM } from "./paths.ts";

/** What a compilation gave: the file with its size and the time it took, or the compiler's word. */
export type BuildResult =
  | { ok: true; file: string; bytes: number; ms: number }
  | { ok: false; message: string };

/** Compiles the filter for a target of asconfig.json. */
export function build(target: "release" | "debug"): BuildResult {
  mkdirSync(join(ROOT, "build"), { recursive: true });
  const started = Date.now();
  const asc = join(ROOT, "node_modules", "assemblyscript", "bin", "asc.js");
  const result = spawnSync(
    process.execPath,
    [asc, "--config", "asconfig.json", "--target", target],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  const output = `${result.stdout}${result.stderr}`.trim();
  if (result.status !== 0) return { ok: false, message: output || "asc failed without a word" };
  if (output !== "") console.warn(output);
  const file = target === "release" ? join(ROOT, "build", "warmroute.wasm") : DEBUG_WASM;
  return {
    ok: true,
    file: relative(ROOT, file),
    bytes: statSync(file).size,
    ms: Date.now() - started,
  };
}

/**
 * Compiles the release filter unless build/warmroute.wasm is newer than all it is made of, or
 * $WARMROUTE_WASM names another.
 */
export function buildIfStale(): BuildResult {
  if (GIVEN_WASM !== undefined) {
    return { ok: true, file: GIVEN_WASM, bytes: statSync(GIVEN_WASM).size, ms: 0 };
  }
  if (existsSync(WASM) && statSync(WASM).mtimeMs > newestSourceMs()) {
    return { ok: true, file: relative(ROOT, WASM), bytes: statSync(WASM).size, ms: 0 };
  }
  return build("release");
}

/** Time of the last change to what the filter is compiled from, in milliseconds since 1970. */
function newestSourceMs(): number {
  const names = ["asconfig.json", "package-lock.json"];
  const sources = readdirSync(join(ROOT, "assembly"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join("assembly", name));
  return Math.max(...[...names, ...sources].map((name) => statSync(join(ROOT, name)).mtimeMs));
}
