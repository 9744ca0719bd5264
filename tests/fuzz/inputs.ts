/** What fuzz suites share: how many inputs there were, what memory became of it, and inputs worth keeping. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Inputs that once found a fault, each named after it. Every reader gets all of them in every run. */
const CORPUS = new URL("corpus/", import.meta.url);

let inputs = 0;
const memories: { name: string; bytes: () => number; before: number }[] = [];

/** Counts inputs that went through a reader. */
export function countInput(): void {
  inputs++;
}

/** Tells at the end how a reader's memory has grown since now. */
export function watchMemory(name: string, bytes: () => number): void {
  memories.push({ name, bytes, before: bytes() });
}

/** Runs a check; an input that fails it is kept in the corpus, under a name to be given it by hand. */
export function keeping<T>(bytes: Uint8Array, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (process.env.FUZZ_RUNS !== undefined) {
      const name = `new-${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}`;
      writeFileSync(new URL(name, CORPUS), bytes);
      (error as Error).message += `\nkept as tests/fuzz/corpus/${name}`;
    }
    throw error;
  }
}

/** The corpus. */
export function corpus(): { name: string; bytes: Uint8Array }[] {
  return readdirSync(CORPUS)
    .filter((name) => name !== "README.md")
    .sort()
    .map((name) => ({ name, bytes: new Uint8Array(readFileSync(new URL(name, CORPUS))) }));
}

// Only long runs tell: those of `npm run fuzz`.
if (process.env.FUZZ_RUNS !== undefined) {
  process.on("exit", () => {
    console.log(`fuzz: ${inputs} inputs`);
    for (const { name, bytes, before } of memories) {
      console.log(`fuzz: memory of ${name} ${before} bytes before, ${bytes()} after`);
    }
  });
}
