import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";
import { Host, type HostOptions } from "./host.ts";
import type { Root } from "./vm.ts";

/** What the test filter is made of. */
const SOURCES = ["assembly/bytes.ts", "assembly/host", "tests/host/assembly"];

/** Where `testModule` puts what it builds. */
export const TEST_WASM = join(ROOT, "build/host-test.wasm");

function newestMs(path: string): number {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(...readdirSync(path).map((name) => newestMs(join(path, name))));
}

function upToDate(): boolean {
  try {
    const builtMs = statSync(TEST_WASM).mtimeMs;
    return SOURCES.every((path) => newestMs(join(ROOT, path)) <= builtMs);
  } catch {
    return false;
  }
}

let compiled: WebAssembly.Module | undefined;

/** The filter that these tests drive, built when its sources have changed. */
export function testModule(): WebAssembly.Module {
  if (compiled) return compiled;
  if (!upToDate()) {
    mkdirSync(join(ROOT, "build"), { recursive: true });
    // Test files run side by side: each builds to a name of its own.
    const draft = `build/host-test.${process.pid}.wasm`;
    const asc = join(ROOT, "node_modules/assemblyscript/bin/asc.js");
    const options = ["--config", "tests/host/assembly/asconfig.json", "--outFile", draft];
    execFileSync(process.execPath, [asc, ...options], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    renameSync(join(ROOT, draft), TEST_WASM);
    rmSync(join(ROOT, draft.replace(".wasm", ".d.ts")), { force: true });
  }
  compiled = new WebAssembly.Module(readFileSync(TEST_WASM));
  return compiled;
}

/** A host with one VM and one root of the test filter. */
export function testRoot(config = "", options: HostOptions = {}): { host: Host; root: Root } {
  const host = new Host({ clusters: ["backend"], ...options });
  const root = host.createVm(testModule(), { vmId: "test" }).createRoot({ rootId: "a", config });
  return { host, root };
}

/** Messages logged so far. */
export function messages(host: Host): string[] {
  return host.logs.map((line) => line.message);
}

/** Request headers, with those that tell the test filter what to do. */
export function post(orders: Record<string, string> = {}): [string, string][] {
  return [[":method", "POST"], [":path", "/x"], [":authority", "test"], ...Object.entries(orders)];
}
