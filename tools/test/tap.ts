/** Of one failed test, and of all together, this much is shown. */
const BLOCK_CHARS = 2500;
const ALL_CHARS = 12_000;

/** The failed tests of a TAP output with their errors; empty where none has failed. */
export function failuresOf(tap: string): string {
  const blocks = tap.match(/^( *)not ok .*(?:\n\1 {2}---\n[\s\S]*?\n\1 {2}\.\.\.)?/gm) ?? [];
  return blocks
    .map((block) => block.slice(0, BLOCK_CHARS))
    .join("\n")
    .slice(0, ALL_CHARS);
}
