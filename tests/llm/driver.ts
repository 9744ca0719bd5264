import { Engine } from "./engine.ts";
import type { EngineOptions, EngineRequest, Sequence } from "./model.ts";

/** Told about one request; the same as the engine's listener, but per request. */
export interface RequestListener {
  onToken?(sequence: Sequence): void;
  onFinish(sequence: Sequence): void;
  onAbort(cause: "killed" | "too_long"): void;
}

/** Timers take up to this; a longer sleep is cut in pieces. */
const LONGEST_SLEEP_MS = 1000;

/** Runs an engine in real time, `timeScale` times as fast as the wall clock. */
export class EngineDriver {
  readonly engine: Engine;
  private readonly timeScale: number;
  private readonly originMs = performance.now();
  private readonly listeners = new Map<Sequence, RequestListener>();
  private timer: NodeJS.Timeout | undefined;
  private lastId = 0;

  constructor(options: Partial<EngineOptions>, timeScale: number) {
    this.timeScale = timeScale;
    this.engine = new Engine(
      {
        onToken: (sequence) => this.listeners.get(sequence)?.onToken?.(sequence),
        onFinish: (sequence) => this.forget(sequence)?.onFinish(sequence),
        onAbort: (sequence, _nowMs, cause) => {
          const listener = this.forget(sequence);
          if (listener !== undefined) listener.onAbort(cause);
          else this.refused = cause;
        },
      },
      options,
    );
  }

  /** Engine milliseconds. */
  nowMs(): number {
    return (performance.now() - this.originMs) * this.timeScale;
  }

  submit(request: Omit<EngineRequest, "id">, listener: RequestListener): Sequence {
    this.lastId += 1;
    this.refused = undefined;
    const sequence = this.engine.submit({ ...request, id: this.lastId }, this.nowMs());
    if (this.refused !== undefined) listener.onAbort(this.refused);
    else this.listeners.set(sequence, listener);
    this.schedule();
    return sequence;
  }

  cancel(sequence: Sequence): void {
    this.listeners.delete(sequence);
    this.engine.cancel(sequence, this.nowMs());
    this.schedule();
  }

  kill(): void {
    this.engine.kill(this.nowMs());
    this.schedule();
  }

  restart(): void {
    this.engine.restart(this.nowMs());
  }

  stop(): void {
    clearTimeout(this.timer);
    this.listeners.clear();
  }

  private refused: "killed" | "too_long" | undefined;

  private forget(sequence: Sequence): RequestListener | undefined {
    const listener = this.listeners.get(sequence);
    this.listeners.delete(sequence);
    return listener;
  }

  private schedule(): void {
    clearTimeout(this.timer);
    const nextMs = this.engine.nextEventMs();
    if (nextMs === Number.POSITIVE_INFINITY) return;
    const sleepMs = Math.max(0, (nextMs - this.nowMs()) / this.timeScale);
    this.timer = setTimeout(
      () => {
        this.engine.advance(this.nowMs());
        this.schedule();
      },
      Math.min(LONGEST_SLEEP_MS, sleepMs),
    );
  }
}
