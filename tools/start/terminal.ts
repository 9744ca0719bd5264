/** Colours and shapes for a terminal; plain text where it has none. */

export const isTerminal = process.stdout.isTTY === true;
const coloured = isTerminal && process.env.NO_COLOR === undefined && process.env.TERM !== "dumb";

function paint(code: string): (text: string) => string {
  return (text) => (coloured ? `\x1b[${code}m${text}\x1b[0m` : text);
}

export const bold = paint("1");
export const dim = paint("2");
export const green = paint("32");
export const orange = paint("38;5;208");
export const blue = paint("38;5;75");
export const red = paint("31");

const ESCAPES = /\x1b\[[0-9;?]*[a-zA-Z]/g;

/** Columns that a text takes, escape sequences left out. */
function width(text: string): number {
  return text.replace(ESCAPES, "").length;
}

/** Fills up with blanks at the end, or at the start. */
export function padEnd(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - width(text)));
}

export function padStart(text: string, columns: number): string {
  return " ".repeat(Math.max(0, columns - width(text))) + text;
}

/** Lines of at most `columns`, broken between words; a longer word stays whole. */
export function wrap(text: string, columns: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines[lines.length - 1] ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (width(line) + 1 + width(word) <= columns) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of `columns` for a share of 0..1, in eighths of a column. */
export function bar(share: number, columns: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share || 0)) * columns * 8);
  const full = "█".repeat(eighths >> 3) + (EIGHTHS[eighths & 7] ?? "");
  return full + dim("·".repeat(Math.max(0, columns - width(full))));
}

const STEPS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/** One character per value, on a scale that ends at `top`; a blank for NaN. */
export function sparkline(values: number[], top: number): string {
  return values
    .map((value) => {
      if (Number.isNaN(value)) return " ";
      return STEPS[Math.min(7, Math.floor((value / top) * 8))] ?? " ";
    })
    .join("");
}

/** A part of the screen that is drawn over again. */
export class Screen {
  #lines = 0;

  /** Shows lines in place of the last ones, cut to the terminal's size. */
  draw(lines: string[]): void {
    const rows = process.stdout.rows ?? 40;
    const shown = lines.slice(0, Math.max(1, rows - 1));
    const up = this.#lines > 0 ? `\x1b[${this.#lines}A` : "\x1b[?25l";
    const text = shown.map((line) => `${line}\x1b[K`).join("\n");
    // Lines stay whole at any width: without wrapping the count of lines is what was written.
    process.stdout.write(`\x1b[?7l${up}\r${text}\n\x1b[J\x1b[?7h`);
    this.#lines = shown.length;
  }

  /** Takes the lines away and gives the cursor back. */
  clear(): void {
    if (this.#lines > 0) process.stdout.write(`\x1b[${this.#lines}A\r\x1b[J`);
    process.stdout.write("\x1b[?25h");
    this.#lines = 0;
  }
}
