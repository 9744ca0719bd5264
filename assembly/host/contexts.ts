import { ContextTable } from "./table";

/** Answers to header callbacks. */
export const enum HeadersStatus {
  Continue = 0,
  StopIteration = 1,
  StopAllIterationAndBuffer = 3,
  StopAllIterationAndWatermark = 4,
}

/** Answers to body callbacks. */
export const enum DataStatus {
  Continue = 0,
  StopIterationAndBuffer = 1,
  StopIterationAndWatermark = 2,
  StopIterationNoBuffer = 3,
}

/** Answers to trailer callbacks. */
export const enum TrailersStatus {
  Continue = 0,
  StopIteration = 1,
}

/** One plugin configuration in one VM. */
export abstract class RootContext {
  id: u32 = 0;

  /** The VM has started; `size` bytes of VM configuration. False refuses it. */
  onStart(size: i32): bool {
    return true;
  }

  /** `size` bytes of plugin configuration can be read. False refuses it. */
  onConfigure(size: i32): bool {
    return true;
  }

  onTick(): void {}

  /** The answer to a call; 0 headers: it failed. */
  onCallResponse(token: u32, headerCount: i32, bodySize: i32, trailerCount: i32): void {}

  onDone(): void {}

  onDelete(): void {}

  /** The record of a new stream; null: it passes unseen. */
  createStream(id: u32): StreamContext | null {
    return null;
  }
}

/** One request with its response. */
export abstract class StreamContext {
  id: u32 = 0;

  onRequestHeaders(count: i32, endOfStream: bool): HeadersStatus {
    return HeadersStatus.Continue;
  }

  /** `size` is all that is buffered now, not only what is new. */
  onRequestBody(size: i32, endOfStream: bool): DataStatus {
    return DataStatus.Continue;
  }

  onRequestTrailers(count: i32): TrailersStatus {
    return TrailersStatus.Continue;
  }

  onResponseHeaders(count: i32, endOfStream: bool): HeadersStatus {
    return HeadersStatus.Continue;
  }

  onResponseBody(size: i32, endOfStream: bool): DataStatus {
    return DataStatus.Continue;
  }

  onResponseTrailers(count: i32): TrailersStatus {
    return TrailersStatus.Continue;
  }

  onDone(): void {}

  /** All properties of the finished stream can be read. */
  onLog(): void {}

  /** The last callback: give yourself back to your pool. */
  onDelete(): void {}
}

/** Roots and streams of this VM by context id. */
export const roots = new ContextTable<RootContext>(16, 1 << 12);
export const streams = new ContextTable<StreamContext>(1 << 10, 1 << 20);

function noRoot(id: u32): RootContext | null {
  return null;
}

let makeRoot: (id: u32) => RootContext | null = noRoot;

/** Says what roots are made of. Called once, when the module starts. */
export function setRootFactory(make: (id: u32) => RootContext | null): void {
  makeRoot = make;
}

/** Makes and enters a root, or a stream of root `parent`. What can't be entered passes unseen. */
export function createContext(id: u32, parent: u32): void {
  if (parent == 0) {
    let root = makeRoot(id);
    if (!root) return;
    root.id = id;
    roots.set(id, root);
    return;
  }
  let root = roots.get(parent);
  if (!root) return;
  let stream = root.createStream(id);
  if (!stream) return;
  stream.id = id;
  if (!streams.set(id, stream)) stream.onDelete();
}
