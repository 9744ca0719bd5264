/**
 * `npm test [-- PART…]`: builds, runs every test file, those on real Envoy included, and ends with
 * `N passed, N failed`. With parts of paths, only the files whose path has one of them.
 */
import { availableParallelism } from "node:os";
import { commandLine } from "./commandline.ts";
import { build } from "./compile.ts";
import { findEnvoy } from "./envoy/find.ts";
import { findSuites, type TestFile } from "./test/files.ts";
import { type FileResult, runFile, runSpecs } from "./test/run.ts";

/** Folders of tests/ that must have tests: an empty one is a failure, not a pass. */
const REQUIRED = ["unit", "host", "filter", "fuzz", "llm", "e2e", "monitoring", "layout"];

/** Files of these folders run alone: they measure time, or have threads of their own. */
const ALONE = ["e2e", "browser", "doctor", "bench", "start", "examples"];

/** Folders whose tests need no filter. */
const WITHOUT_FILTER = ["layout", "llm", "tools", "bench"];

const USAGE = `npm test -- [PART of a path …]

Builds, and runs every test, those on real Envoy included, or those whose path has one of the parts:
npm test -- e2e/bodies. Ends with how many passed and failed; exit code 1 if any failed.
`;

const started = Date.now();
const parts = commandLine(USAGE, (args) => args);
const { specs, files } = findSuites(parts);
let passed = 0;
let failed = 0;
let skipped = 0;
const failures: string[] = [];

/** Counts a result and says it in one line, with its output when something failed. */
function report(result: FileResult): void {
  passed += result.passed;
  failed += result.failed;
  skipped += result.skipped;
  const ok = result.failed === 0;
  const counts = [`${result.passed} passed`];
  if (!ok) counts.push(`${result.failed} failed`);
  if (result.skipped > 0) counts.push(`${result.skipped} skipped`);
  const seconds = (result.ms / 1000).toFixed(1);
  console.log(`${ok ? "ok  " : "FAIL"} ${result.name}  ${counts.join(", ")}  ${seconds} s`);
  for (const reason of result.reasons) console.log(`     skipped: ${reason}`);
  if (ok) return;
  failures.push(result.name);
  console.log(result.output.trimEnd().replace(/^/gm, "    "));
}

/** Runs files, some at a time. */
async function runAll(list: TestFile[], limit: number): Promise<void> {
  const queue = [...list];
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      report(await runFile(file));
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

if (specs.length + files.length === 0) {
  console.log(`No test file has ${parts.join(" or ")} in its path.`);
  failed++;
}
if (files.some(({ suite }) => !WITHOUT_FILTER.includes(suite))) {
  for (const target of ["release", "debug"] as const) {
    const result = build(target);
    if (result.ok) {
      console.log(`built ${result.file}  ${(result.bytes / 1024).toFixed(0)} KiB`);
      continue;
    }
    failed++;
    failures.push(`build ${target}`);
    console.log(`FAIL build ${target}\n${result.message.replace(/^/gm, "    ")}`);
  }
}
if (files.some(({ suite }) => suite === "e2e")) {
  try {
    const envoy = findEnvoy(undefined, console.log);
    console.log(`Envoy ${envoy.version} from ${envoy.source}`);
  } catch (error) {
    // The tests that need it fail one by one; this is why.
    console.log((error as Error).message);
  }
}
if (parts.length === 0) {
  for (const suite of REQUIRED) {
    const has = suite === "unit" ? specs.length > 0 : files.some((file) => file.suite === suite);
    if (has) continue;
    failed++;
    failures.push(`tests/${suite} has no test`);
    console.log(`FAIL tests/${suite} has no test`);
  }
}

const cores = Math.min(availableParallelism(), 4);
const together = files.filter(({ suite }) => !ALONE.includes(suite));
const alone = files.filter(({ suite }) => ALONE.includes(suite));
if (specs.length > 0) {
  const unit = runSpecs(specs).then(report);
  await Promise.all([unit, runAll(together, Math.max(1, cores - 1))]);
} else {
  await runAll(together, cores);
}
await runAll(alone, 1);

if (failures.length > 0)
  console.log(`\nFailed:\n${failures.map((name) => `  ${name}`).join("\n")}`);
console.log(`\n${Math.round((Date.now() - started) / 1000)} s`);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
