import { existsSync } from "node:fs";
import { dirname } from "node:path";

/**
 * What a program is asked: `read` makes its options of the arguments, by `parseArgs` and the checks below. Ends the program
 * with `usage` after --help, and with `usage` and what is wrong (exit code 2) when the arguments make no sense.
 */
export function commandLine<T>(
  usage: string,
  read: (args: string[]) => T,
  args: string[] = process.argv.slice(2),
): T {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(usage.trimEnd());
    process.exit(0);
  }
  try {
    return read(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage.trimEnd()}`);
    process.exit(2);
  }
}

/** @throws RangeError with the option, what was expected and what was given. */
export function number(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max) return value;
  throw new RangeError(`${name}: expected a number of ${min}..${max}, got "${text}"`);
}

/** @throws RangeError with the option, what was expected and what was given. */
export function whole(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new RangeError(`${name}: expected a whole number of ${min}..${max}, got "${text}"`);
}

/** One of some words. @throws RangeError with the option, what was expected and what was given. */
export function oneOf<T extends string>(name: string, text: string, words: readonly T[]): T {
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw new RangeError(`${name}: expected ${words.join(", ")}, got "${text}"`);
}

/** The parts of a list with commas; empty ones don't count. */
export function parts(list: string): string[] {
  return list.split(",").filter((part) => part !== "");
}

/** The parts of a list with commas, at least one. @throws RangeError with the option when there is none. */
export function some(name: string, list: string): string[] {
  const found = parts(list);
  if (found.length > 0) return found;
  throw new RangeError(`${name}: expected one or several, with commas between, got "${list}"`);
}

/** A file to be written at the end: better refused before the work than after it. @throws RangeError if its folder isn't there. */
export function output(name: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  if (path !== "" && existsSync(dirname(path))) return path;
  throw new RangeError(`${name}: expected a file in a folder that is there, got "${path}"`);
}

/** What seeds are. */
export const MAX_SEED = 2 ** 32 - 1;
