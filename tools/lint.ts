/**
 * `npm run lint` checks formatting, lint rules and types of the TypeScript and the AssemblyScript,
 * and the direction of imports; `npm run format` writes the formatting instead.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { COPY_CONFIG, copyBack, copyForBiome } from "./assemblyscript.ts";
import { ROOT } from "./paths.ts";
import { importFaults } from "./rooms.ts";

const BIN = join(ROOT, "node_modules", ".bin");

/** Runs a command in the project's folder; resolves to its exit code and what it printed. */
function run(command: string, args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.on("error", (error) => resolve({ code: 1, output: error.message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

const biome = join(BIN, "biome");
const copies = copyForBiome();
const biomeCopies = ["--config-path", COPY_CONFIG, ...copies.folders];

if (process.argv.includes("--write")) {
  const results = await Promise.all([
    run(biome, ["check", "--write", "."]),
    run(biome, ["format", "--write", ...biomeCopies]),
  ]);
  const changed = copyBack(copies);
  for (const { code, output } of results) if (code !== 0) console.log(output);
  console.log(`${changed} AssemblyScript files changed`);
  process.exit(Math.max(...results.map(({ code }) => code)));
}

const asc = join(BIN, "asc");
const checks: [name: string, result: Promise<{ code: number; output: string }>][] = [
  ["TypeScript: format and rules", run(biome, ["check", "."])],
  ["TypeScript: types", run(join(BIN, "tsc"), ["--noEmit"])],
  ["AssemblyScript: format and rules", run(biome, ["check", ...biomeCopies])],
  [
    "AssemblyScript: types",
    existsSync(join(ROOT, "assembly", "index.ts"))
      ? run(asc, ["--config", "asconfig.json", "--target", "debug", "--noEmit"])
      : Promise.resolve({ code: 1, output: "assembly/index.ts is missing" }),
  ],
  [
    "Imports point inwards",
    Promise.resolve(importFaults()).then((faults) => ({
      code: faults.length === 0 ? 0 : 1,
      output: faults.join("\n"),
    })),
  ],
];
let failed = 0;
for (const [name, result] of checks) {
  const { code, output } = await result;
  console.log(`${code === 0 ? "ok  " : "FAIL"} ${name}`);
  if (code !== 0) {
    failed++;
    console.log(output.trim());
  }
}
process.exit(failed === 0 ? 0 : 1);
