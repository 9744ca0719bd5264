import type { Call } from "../host/calls.ts";
import { ManualClock, msToNs, nsToMs } from "../host/clock.ts";
import { Host } from "../host/host.ts";
import type { Stream } from "../host/stream.ts";
import type { Root } from "../host/vm.ts";

/** Time 0 of the simulation, as the filter's clock shows it. */
const EPOCH_MS = 1_700_000_000_000;
const EPOCH_NS = msToNs(EPOCH_MS);

/** The shipped bootstrap's `request_body_buffer_limit`. */
const BODY_BUFFER_BYTES = 2_228_224;

/** A connection brings this much of a body at once. */
const CHUNK_BYTES = 65_536;

/** What surrounds one Envoy in the simulation. */
export interface FilterWorld {
  at(timeMs: number, call: (nowMs: number) => void): void;
  onCall(call: Call): void;
  /** A stream that `request` left held was let go, answered or broken off. */
  onSettled(stream: Stream, nowMs: number): void;
}

export interface FilterOptions {
  module: WebAssembly.Module;
  config: object;
  workers: number;
  /** Time of the first tick differs between gateways. */
  startMs: number;
}

/** One Envoy with the shipped filter in it: workers' VMs over shared data, in virtual time. */
export class FilterHost {
  readonly host: Host;
  private readonly clock = new ManualClock(EPOCH_MS);
  private readonly roots: Root[] = [];
  /** On the listener for other gateways. */
  private readonly internal: Root[] = [];
  private readonly world: FilterWorld;
  private readonly held = new Set<Stream>();
  private tickAtMs = Number.POSITIVE_INFINITY;

  constructor(options: FilterOptions, world: FilterWorld) {
    this.world = world;
    this.host = new Host({
      clock: this.clock,
      clusters: ["llm", "warmroute_peers"],
      requestBodyBufferLimit: BODY_BUFFER_BYTES,
      logLevel: "warn",
      onCall: (call) => world.onCall(call),
    });
    this.moveTo(options.startMs);
    const config = JSON.stringify(options.config);
    // Workers, and the main thread, which has no streams but ticks.
    for (let i = 0; i <= options.workers; i += 1) {
      const vm = this.host.createVm(options.module, { vmId: "warmroute" });
      const root = vm.createRoot({ rootId: "warmroute", config });
      if (!root.accepted) {
        const reason = this.host.logs.map((line) => line.message).join("; ");
        throw new Error(`the filter refused its configuration: ${reason}`);
      }
      this.roots.push(root);
      const serve = JSON.stringify({ peers: { serve: true } });
      this.internal.push(vm.createRoot({ rootId: "warmroute", config: serve }));
    }
    this.scheduleTick();
  }

  get workers(): number {
    return this.roots.length - 1;
  }

  /** A request with its body. If it isn't settled on return, `onSettled` follows. */
  request(
    worker: number,
    path: string,
    body: Buffer,
    nowMs: number,
    headers: readonly [string, string][] = [],
  ): Stream {
    return this.send(this.roots[worker] as Root, path, body, nowMs, headers);
  }

  /** The same on the listener for other gateways. */
  message(worker: number, path: string, body: Buffer, nowMs: number): Stream {
    return this.send(this.internal[worker] as Root, path, body, nowMs);
  }

  private send(
    root: Root,
    path: string,
    body: Buffer,
    nowMs: number,
    headers: readonly [string, string][] = [],
  ): Stream {
    this.moveTo(nowMs);
    const stream = root.createStream({ cluster: "llm" });
    stream.requestHeaders([
      [":method", "POST"],
      [":path", path],
      [":authority", "llm"],
      ["content-type", "application/json"],
      ["content-length", `${body.length}`],
      ...headers,
    ]);
    for (let from = 0; from < body.length || from === 0; from += CHUNK_BYTES) {
      const end = from + CHUNK_BYTES >= body.length;
      stream.requestBody(body.subarray(from, from + CHUNK_BYTES), end);
    }
    if (!isSettled(stream)) this.held.add(stream);
    this.settle(nowMs);
    return stream;
  }

  /** Does something to a stream or a call at a time, and sees what it set free. */
  act(nowMs: number, action: () => void): void {
    this.moveTo(nowMs);
    action();
    this.settle(nowMs);
  }

  close(): void {
    for (const vm of this.host.vms) vm.shutdown();
  }

  private moveTo(nowMs: number): void {
    this.clock.moveTo(EPOCH_NS + msToNs(nowMs));
  }

  private settle(nowMs: number): void {
    for (const stream of this.held) {
      if (!isSettled(stream)) continue;
      this.held.delete(stream);
      this.world.onSettled(stream, nowMs);
    }
    if (this.nextTickMs() < this.tickAtMs) this.scheduleTick();
  }

  private nextTickMs(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const root of this.roots) {
      if (root.tickPeriodMs > 0) next = Math.min(next, nsToMs(root.nextTickNs - EPOCH_NS));
    }
    return next;
  }

  private scheduleTick(): void {
    const dueMs = this.nextTickMs();
    this.tickAtMs = dueMs;
    if (dueMs === Number.POSITIVE_INFINITY) return;
    this.world.at(dueMs, (nowMs) => {
      // A shorter period may have put another tick before this one.
      if (this.tickAtMs !== dueMs) return;
      this.moveTo(nowMs);
      const nowNs = this.clock.now();
      for (const root of this.roots) {
        if (root.tickPeriodMs > 0 && root.nextTickNs <= nowNs) root.tick();
      }
      this.scheduleTick();
      this.settle(nowMs);
    });
  }
}

/** Whether the filter has let the request go whole, answered it or broken it off. */
export function isSettled(stream: Stream): boolean {
  const { request, localReply, finished } = stream;
  return (
    finished || localReply !== undefined || (request.sentHeaders !== undefined && request.sentEnd)
  );
}
