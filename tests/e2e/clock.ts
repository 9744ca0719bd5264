/** Wall clocks of single Envoys that go wrong, by a library that is preloaded into them. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { ROOT } from "../../tools/paths.ts";

const LIBRARY = join(ROOT, "build", "tests", "clock.so");

/** Builds the library; why it can't be had here, if it can't. */
export function buildClock(): string | undefined {
  mkdirSync(join(ROOT, "build", "tests"), { recursive: true });
  const source = join(ROOT, "tests", "e2e", "clock.c");
  try {
    execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", LIBRARY, source, "-ldl"], {
      stdio: "pipe",
    });
    return undefined;
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: Buffer };
    if (code === "ENOENT") return "a C compiler (cc) is needed to build a clock that goes wrong";
    throw new Error(`clock.c doesn't compile: ${stderr}`);
  }
}

/** The wall clock of one Envoy. */
export class WallClock {
  readonly #path: string;
  readonly #file: number;

  /** @param aheadMs how far it is ahead of this machine's */
  constructor(aheadMs: number) {
    const folder = mkdtempSync(join(tmpdir(), "warmroute-clock-"));
    this.#path = join(folder, "ahead");
    this.#file = openSync(this.#path, "w+");
    this.set(aheadMs);
    after(() => {
      closeSync(this.#file);
      rmSync(folder, { recursive: true, force: true });
    });
  }

  /** What the Envoy's environment needs. */
  get env(): Record<string, string> {
    return { LD_PRELOAD: LIBRARY, WARMROUTE_CLOCK: this.#path };
  }

  /** Sets it, at once. */
  set(aheadMs: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(aheadMs) * 1_000_000n);
    // In place: the process has the file mapped.
    writeSync(this.#file, bytes, 0, bytes.length, 0);
  }
}
