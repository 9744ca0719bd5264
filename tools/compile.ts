import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { DEBUG_WASM, GIVEN_WASM, ROOT, WASM } from "./paths.ts";

/** What a compilation gave: the file with its size and the time it took, or the compiler's word. */
export type BuildResult =
  | { ok: true; file: string; bytes: number; ms: number }
  | { ok: false; message: string };

/**
 * Inlines further than asc does: Envoy's V8 inlines no calls of WebAssembly functions, so each that is left costs its price.
 * Limits are in expressions; twice as large ones gained nothing more.
 */
const INLINE = [
  ...["-O3", "--always-inline-max-function-size", "60"],
  ...["--flexible-inline-max-function-size", "200"],
  ...["--one-caller-inline-max-function-size", "400"],
];
/** What AssemblyScript's output may use. */
const FEATURES = ["simd", "bulk-memory", "mutable-globals", "sign-ext", "nontrapping-float-to-int"];

/** Compiles the filter for a target of asconfig.json. */
export function build(target: "release" | "debug"): BuildResult {
  mkdirSync(join(ROOT, "build"), { recursive: true });
  const started = Date.now();
  const isRelease = target === "release";
  const file = isRelease ? join(ROOT, "build", "warmroute.wasm") : DEBUG_WASM;
  const compiled = isRelease ? join(ROOT, "build", "warmroute.asc.wasm") : file;
  const asc = ["assemblyscript", "bin", "asc.js"];
  let message = run(asc, ["--config", "asconfig.json", "--target", target, "--outFile", compiled]);
  if (message === undefined && isRelease) {
    const features = FEATURES.map((name) => `--enable-${name}`);
    message = run(["binaryen", "bin", "wasm-opt"], [...features, ...INLINE, compiled, "-o", file]);
    rmSync(compiled, { force: true });
  }
  if (message !== undefined) return { ok: false, message };
  return {
    ok: true,
    file: relative(ROOT, file),
    bytes: statSync(file).size,
    ms: Date.now() - started,
  };
}

/** Runs a program of a package; its word if it failed. */
function run(program: string[], args: string[]): string | undefined {
  const path = join(ROOT, "node_modules", ...program);
  const result = spawnSync(process.execPath, [path, ...args], { cwd: ROOT, encoding: "utf8" });
  const output = `${result.stdout}${result.stderr}`.trim();
  if (result.status !== 0) return output || `${program[0]} failed without a word`;
  if (output !== "") console.warn(output);
  return undefined;
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
  const names = ["asconfig.json", "package-lock.json", join("tools", "compile.ts")];
  const sources = readdirSync(join(ROOT, "assembly"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join("assembly", name));
  return Math.max(...[...names, ...sources].map((name) => statSync(join(ROOT, name)).mtimeMs));
}
