import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../paths.ts";
import type { TestFile } from "./files.ts";
import { failuresOf } from "./tap.ts";

/** How long one file, or all unit specs, may take. */
const FILE_TIMEOUT_MS = 600_000;

export interface FileResult {
  name: string;
  passed: number;
  failed: number;
  skipped: number;
  /** Why tests were skipped, each reason once. */
  reasons: string[];
  ms: number;
  /** What to show when something failed. */
  output: string;
}

// as-pect colours its output whatever it is told.
const COLOURS = /\x1b\[[0-9;]*m/g;

const children = new Set<ChildProcess>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A test file ends what it started itself.
    for (const child of children) child.kill(signal);
    process.exit(130);
  });
}

/** Runs a program to its end; `code` is null when it was stopped. */
function run(args: string[], env: Record<string, string>) {
  return new Promise<{ code: number | null; output: string; ms: number }>((resolve) => {
    const started = Date.now();
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, FORCE_COLOR: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.add(child);
    let output = "";
    const take = (chunk: Buffer) => {
      output += chunk;
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    const late = setTimeout(() => {
      output += `\nstopped: it took longer than ${FILE_TIMEOUT_MS / 1000} s\n`;
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), 10_000).unref();
    }, FILE_TIMEOUT_MS);
    child.on("close", (code) => {
      clearTimeout(late);
      children.delete(child);
      resolve({ code, output: output.replace(COLOURS, ""), ms: Date.now() - started });
    });
  });
}

/** Runs one file of node:test tests. */
export async function runFile({ path }: TestFile): Promise<FileResult> {
  const { code, output, ms } = await run(["--import", "tsx", "--test-reporter=tap", path], {});
  const count = (name: string) =>
    Number([...output.matchAll(new RegExp(`^# ${name} (\\d+)$`, "gm"))].at(-1)?.[1] ?? 0);
  const passed = count("pass");
  const skipped = count("skipped") + count("todo");
  let failed = count("fail") + count("cancelled");
  let shown = failuresOf(output);
  if (failed === 0 && code !== 0) {
    failed = 1;
    shown = output.slice(-6000);
  } else if (passed + failed + skipped === 0) {
    failed = 1;
    shown = "it ran no test";
  }
  const reasons = [...output.matchAll(/# (?:SKIP|TODO) (.+)$/gm)].map(([, reason = ""]) => reason);
  const unique = [...new Set(reasons)];
  return { name: path, passed, failed, skipped, reasons: unique, ms, output: shown };
}

/** Runs the AssemblyScript specs in one process. */
export async function runSpecs(specs: string[]): Promise<FileResult> {
  const asp = join(ROOT, "node_modules", "@as-pect", "cli", "bin", "asp.js");
  const { code, output, ms } = await run([asp, "--no-logo", "--verbose"], {
    WARMROUTE_SPECS: specs.join(","),
  });
  const total = /\[Tests\]: (\d+) \/ (\d+)/.exec(output);
  const passed = Number(total?.[1] ?? 0);
  let failed = Number(total?.[2] ?? 0) - passed;
  if (failed === 0 && (code !== 0 || passed === 0)) failed = 1;
  const name = `tests/unit (${specs.length} ${specs.length === 1 ? "file" : "files"})`;
  return { name, passed, failed, skipped: 0, reasons: [], ms, output: specFailures(output) };
}

/** The failed expectations of as-pect's output; the end of it when there are none to be seen. */
function specFailures(output: string): string {
  const lines = output.split("\n");
  const failures = lines.flatMap((line, i) =>
    /\[Fail\]|\[Error\]|✖|ERROR/.test(line) ? lines.slice(i, i + 8) : [],
  );
  return failures.length > 0 ? failures.join("\n").slice(0, 12_000) : output.slice(-4000);
}
