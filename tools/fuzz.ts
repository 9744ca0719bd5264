/**
 * `npm run fuzz [-- --runs N --seed S PART…]`: the fuzz suites for longer, and on other inputs than
 * `npm test`. Ends with how many inputs there were and what became of the readers' memory.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { buildIfStale } from "./compile.ts";
import { ROOT } from "./paths.ts";
import { findSuites } from "./test/files.ts";

const { values, positionals } = parseArgs({
  options: {
    runs: { type: "string", default: "200000" },
    seed: { type: "string", default: "1" },
    help: { type: "boolean", default: false },
  },
  allowPositionals: true,
});

if (values.help) {
  console.log(
    "npm run fuzz -- [--runs N (200000, of each test)] [--seed S (1)] [PART of a path …]",
  );
  process.exit(0);
}
for (const [name, value] of [
  ["runs", values.runs],
  ["seed", values.seed],
] as const) {
  if (/^\d+$/.test(value)) continue;
  console.error(`--${name}: expected a whole number, got "${value}"`);
  process.exit(2);
}
const built = buildIfStale();
if (!built.ok) {
  console.error(built.message);
  process.exit(1);
}

let inputs = 0;
let failed = 0;
const { files } = findSuites(positionals.length > 0 ? positionals : ["tests/fuzz/"]);
for (const { path } of files.filter(({ suite }) => suite === "fuzz")) {
  const started = Date.now();
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--test-reporter=tap", path],
    {
      cwd: ROOT,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      env: { ...process.env, FUZZ_RUNS: values.runs, FUZZ_SEED: values.seed },
    },
  );
  const output = stdout + stderr;
  const notes = [...output.matchAll(/^(?:# )?fuzz: (.*)$/gm)].map(([, note = ""]) => note);
  inputs += Number(/^(\d+) inputs$/.exec(notes[0] ?? "")?.[1] ?? 0);
  console.log(
    `${status === 0 ? "ok  " : "FAIL"} ${path}  ${Math.round((Date.now() - started) / 1000)} s`,
  );
  for (const note of notes) console.log(`       ${note}`);
  if (status === 0) continue;
  failed++;
  console.log(
    output.match(/^( *)not ok .*(?:\n\1 {2}---\n[\s\S]*?\n\1 {2}\.\.\.)?/gm)?.join("\n") ??
      output.slice(-4000),
  );
}
console.log(`${inputs} inputs, ${failed} files failed`);
process.exit(failed > 0 ? 1 : 0);
