const REDRAW_MS = 200;
const LINE_MS = 10_000;

/** One line on stderr that says how far a run is; on no terminal, a line every ten seconds. */
export class Progress {
  private readonly label: string;
  private readonly startedMs = performance.now();
  private drawnMs = performance.now();

  constructor(label: string) {
    this.label = label;
  }

  show(done: number, total: number, nowMs: number): void {
    const wallMs = performance.now();
    const { isTTY } = process.stderr;
    if (wallMs - this.drawnMs < (isTTY ? REDRAW_MS : LINE_MS)) return;
    this.drawnMs = wallMs;
    const share = total > 0 ? done / total : 1;
    const seconds = ((wallMs - this.startedMs) / 1000).toFixed(0);
    const text = `${this.label}  ${(100 * share).toFixed(0)} %  ${done}/${total} requests, ${(
      nowMs / 1000
    ).toFixed(0)} s simulated in ${seconds} s`;
    process.stderr.write(isTTY ? `\r\x1b[K${text}` : `${text}\n`);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  }
}
