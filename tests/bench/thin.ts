import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";

/** Compiles the thin filter with the options of the shipped one; returns its path. */
export function buildThin(): string {
  mkdirSync(join(ROOT, "build"), { recursive: true });
  const file = join(ROOT, "build", "thin.wasm");
  const asc = join(ROOT, "node_modules", "assemblyscript", "bin", "asc.js");
  const shim = "./node_modules/@assemblyscript/wasi-shim/asconfig.json";
  const options = [
    ...["--config", shim, "--runtime", "minimal", "--exportStart", "_initialize"],
    ...["--enable", "simd", "--use", "abort=assembly/host/abort/abort"],
    ...["--optimizeLevel", "3", "--shrinkLevel", "0", "--outFile", file],
  ];
  const result = spawnSync(process.execPath, [asc, "tests/bench/assembly/thin.ts", ...options], {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(`${result.stdout}${result.stderr}`);
  return file;
}
