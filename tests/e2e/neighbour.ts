import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";

const FOLDER = join(ROOT, "build", "tests", "neighbour");

/** What makes a neighbour of this version: all that a version may change of what gateways, and workers, tell each other. */
const CHANGES: [file: string, from: RegExp, to: string][] = [
  ["peers/wire.ts", /VERSION: u8 = (\d+)/, "VERSION: u8 = $1 + 1"],
  ["peers/wire.ts", /ROW_BYTES: i32 = (\d+)/, "ROW_BYTES: i32 = $1 + 8"],
  ["state/layout.ts", /LAYOUT_VERSION: u32 = (\d+)/, "LAYOUT_VERSION: u32 = $1 + 1"],
  ["state/layout.ts", /ROW_RECORD: i32 = (\d+)/, "ROW_RECORD: i32 = $1 + 8"],
  ["prefix/key.ts", /SESSION_SALT: u64 = 0x5e55/, "SESSION_SALT: u64 = 0x6e55"],
  ["prefix/chain.ts", /SYSTEM_SALT: u64 = 0x5757/, "SYSTEM_SALT: u64 = 0x6757"],
];

/**
 * Compiles the filter as its next version might be: the sources as they are, with other versions and sizes of messages and
 * of shared values, and other hashes.
 * @returns path of the .wasm
 */
export function buildNeighbour(): string {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  cpSync(join(ROOT, "assembly"), join(FOLDER, "assembly"), { recursive: true });
  cpSync(join(ROOT, "asconfig.json"), join(FOLDER, "asconfig.json"));
  symlinkSync(join(ROOT, "node_modules"), join(FOLDER, "node_modules"), "dir");
  for (const [file, from, to] of CHANGES) {
    const path = join(FOLDER, "assembly", file);
    const source = readFileSync(path, "utf8");
    const changed = source.replace(from, to);
    assert.notEqual(changed, source, `${from} is nowhere in assembly/${file}`);
    writeFileSync(path, changed);
  }
  const asc = join(ROOT, "node_modules", "assemblyscript", "bin", "asc.js");
  const wasm = join(FOLDER, "neighbour.wasm");
  const options = ["--config", "asconfig.json", "--target", "release", "--outFile", wasm];
  const { status, stderr } = spawnSync(process.execPath, [asc, ...options], {
    cwd: FOLDER,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return wasm;
}
