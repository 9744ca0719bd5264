import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = new URL("../../", import.meta.url);

/**
 * Compiles one entry of `tests/fuzz/assembly` with the release flags and instantiates it.
 * A trap or an abort inside throws.
 */
export async function instantiate(name: string): Promise<WebAssembly.Exports> {
  const out = `build/tests/${name}.wasm`;
  const compiler = new URL("node_modules/assemblyscript/bin/asc.js", root).pathname;
  await run(
    process.execPath,
    [
      compiler,
      `tests/fuzz/assembly/${name}.ts`,
      "--config",
      "tests/fuzz/asconfig.json",
      "--outFile",
      out,
    ],
    { cwd: root.pathname },
  );
  const module = await WebAssembly.compile(await readFile(new URL(out, root)));
  const { exports } = await WebAssembly.instantiate(module, {
    env: {
      abort: (_message: number, _file: number, line: number, column: number) => {
        throw new Error(`abort at ${line}:${column}`);
      },
    },
  });
  (exports._initialize as () => void)();
  return exports;
}
