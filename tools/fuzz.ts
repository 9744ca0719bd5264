/** `npm run fuzz`. */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { commandLine, MAX_SEED, whole } from "./commandline.ts";
import { buildIfStale } from "./compile.ts";
import { ROOT } from "./paths.ts";
import { findSuites } from "./test/files.ts";
import { failuresOf } from "./test/tap.ts";

const USAGE = `npm run fuzz -- [options] [PART of a path …]

The fuzz suites for longer, and on other inputs than npm test. Ends with how many inputs there were and
what became of the readers' memory.

  --runs N   of each test (200000)
  --seed S   (1)
`;

const { runs, seed, asked } = commandLine(USAGE, (args) => {
  const { values, positionals } = parseArgs({
    args,
    options: {
      runs: { type: "string", default: "200000" },
      seed: { type: "string", default: "1" },
    },
    allowPositionals: true,
  });
  return {
    runs: whole("--runs", values.runs, 1, 1e9),
    seed: whole("--seed", values.seed, 0, MAX_SEED),
    asked: positionals,
  };
});
const built = buildIfStale();
if (!built.ok) {
  console.error(built.message);
  process.exit(1);
}

let inputs = 0;
let failed = 0;
const { files } = findSuites(asked.length > 0 ? asked : ["tests/fuzz/"]);
const suites = files.filter(({ suite }) => suite === "fuzz");
if (suites.length === 0) {
  console.error(`No fuzz suite has ${asked.join(" or ")} in its path.`);
  process.exit(2);
}
for (const { path } of suites) {
  const started = Date.now();
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--test-reporter=tap", path],
    {
      cwd: ROOT,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      env: { ...process.env, FUZZ_RUNS: `${runs}`, FUZZ_SEED: `${seed}` },
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
  console.log(failuresOf(output) || output.slice(-4000));
}
console.log(`${inputs} inputs, ${failed} files failed`);
process.exit(failed > 0 ? 1 : 0);
