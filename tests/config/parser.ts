import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  alloc(bytes: number): number;
  check(): number;
  keep(): number;
  describe(): void;
  collect(): void;
  resultPtr(): number;
  resultLength(): number;
}

/** How a field is read: the order of `Kind` in assembly/config/fields.ts. */
export const KINDS = [
  "flag",
  "integer",
  "learned",
  "size",
  "number",
  "word",
  "text",
  "list",
  "names",
] as const;

/** One field as the parser knows it, with its value in the configuration that was parsed. */
export interface FieldInfo {
  path: string;
  kind: number;
  shape: number;
  min: number;
  max: number;
  entryBytes: number;
  words: string[];
  signals: string[];
  value: unknown;
}

/** The filter's own configuration parser, compiled for Node. */
class ConfigParser {
  readonly #wasm: Exports;

  constructor(wasm: Exports) {
    this.#wasm = wasm;
  }

  /** The parser's error; empty if it takes the configuration. */
  check(configuration: string | Uint8Array): string {
    this.#write(configuration);
    const taken = this.#wasm.check() === 1;
    const error = this.#result();
    if (taken !== (error === "")) throw new Error(`taken: ${taken}, error: "${error}"`);
    return error;
  }

  /** All fields with their values under a configuration. */
  describe(configuration: string): FieldInfo[] {
    this.#write(configuration);
    if (this.#wasm.keep() !== 1) throw new Error(this.check(configuration));
    // What a configuration holds must be linked to it, or it is lost here.
    this.#wasm.collect();
    this.#wasm.describe();
    return JSON.parse(this.#result()) as FieldInfo[];
  }

  /** Memory in use, in bytes. */
  get memoryBytes(): number {
    return this.#wasm.memory.buffer.byteLength;
  }

  #write(configuration: string | Uint8Array): void {
    this.#wasm.collect();
    const bytes =
      typeof configuration === "string" ? new TextEncoder().encode(configuration) : configuration;
    const at = this.#wasm.alloc(bytes.length);
    new Uint8Array(this.#wasm.memory.buffer, at, bytes.length).set(bytes);
  }

  #result(): string {
    const { memory, resultPtr, resultLength } = this.#wasm;
    return new TextDecoder().decode(new Uint8Array(memory.buffer, resultPtr(), resultLength()));
  }
}

/** Compiles and starts the parser. */
export function startParser(): ConfigParser {
  const folder = join(ROOT, "build", "test");
  mkdirSync(folder, { recursive: true });
  // Tests run in parallel processes: each compiles for itself and puts the result in place whole.
  const own = join(folder, `config-${process.pid}.wasm`);
  const asc = join(ROOT, "node_modules", "assemblyscript", "bin", "asc.js");
  const flags = ["--config", "none", "--runtime", "minimal", "--exportRuntime", "--enable", "simd"];
  const made = spawnSync(
    process.execPath,
    [asc, "tests/config/assembly/entry.ts", ...flags, "--exportStart", "_initialize", "-o", own],
    { cwd: ROOT, encoding: "utf8" },
  );
  if (made.status !== 0) throw new Error(`the parser doesn't compile:\n${made.stderr}`);
  const file = join(folder, "config.wasm");
  renameSync(own, file);
  const module = new WebAssembly.Module(readFileSync(file));
  const { exports } = new WebAssembly.Instance(module, {
    env: {
      abort: () => {
        throw new Error("the parser trapped");
      },
    },
  });
  const wasm = exports as unknown as Exports;
  wasm._initialize();
  return new ConfigParser(wasm);
}
