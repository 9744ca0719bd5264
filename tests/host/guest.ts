import { type Bytes, pairsSize, Status, writePairs } from "./abi.ts";
import type { CallAnswer } from "./calls.ts";
import type { HeaderMap } from "./headers.ts";
import type { Stream } from "./stream.ts";
import type { Root, Vm } from "./vm.ts";

export type Context = Root | Stream;
type GuestFunction = (...numbers: number[]) => number;

/** The filter trapped: its VM is dead. */
export class VmTrap extends Error {
  readonly vm: Vm;

  constructor(vm: Vm, cause: unknown) {
    super(`the VM trapped: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = "VmTrap";
    this.vm = vm;
  }
}

/** How a guest leaves through `proc_exit`. */
export class ProcExit extends Error {}

/** A stack that overflows is a RangeError. */
function isTrap(error: unknown): boolean {
  return [WebAssembly.RuntimeError, ProcExit, RangeError].some((kind) => error instanceof kind);
}

/** One instance of the module: its memory, what it exports, and who is being called. */
export class Guest {
  readonly vm: Vm;
  readonly contexts = new Map<number, Context>();
  /** Function of that name, absent if the module has none. */
  readonly exports: Readonly<Record<string, GuestFunction | undefined>>;
  dead = false;

  /** What host functions act on: the context of the callback, or another it has switched to. */
  current: Context | undefined;
  effective: Context | undefined;
  /** What `getBuffer` gives for configurations. */
  configuration: Uint8Array | undefined;
  callAnswer: CallAnswer | undefined;
  /** The callback has answered the stream or closed it: whatever it returns, it stops. */
  stopNext = false;
  /** The same of the callback that ended last. */
  stopped = false;

  private readonly memory: WebAssembly.Memory;
  private readonly malloc: GuestFunction;
  private bytes: Buffer;
  private depth = 0;
  private readonly deferred: (() => void)[] = [];

  constructor(vm: Vm, module: WebAssembly.Module, imports: (guest: Guest) => WebAssembly.Imports) {
    this.vm = vm;
    const instance = new WebAssembly.Instance(module, imports(this));
    this.exports = instance.exports as Record<string, GuestFunction>;
    this.memory = instance.exports.memory as WebAssembly.Memory;
    const malloc = this.exports.proxy_on_memory_allocate ?? this.exports.malloc;
    if (!malloc) throw new Error("the module exports neither proxy_on_memory_allocate nor malloc");
    this.malloc = malloc;
    this.bytes = Buffer.from(this.memory.buffer);
    const start = this.exports._initialize ?? this.exports._start;
    start?.();
  }

  /** The memory now. A callback may have grown it, which leaves older views empty. */
  view(): Buffer {
    if (this.bytes.buffer !== this.memory.buffer) this.bytes = Buffer.from(this.memory.buffer);
    return this.bytes;
  }

  get memoryBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /**
   * Calls the guest for a context, then does what its host functions have put off till after it,
   * as Envoy does.
   * @returns what the guest returned, `absent` where it has no such function
   */
  run(context: Context, name: string, absent: number, a = 0, b = 0, c = 0, d = 0): number {
    const call = this.exports[name];
    if (!call) return absent;
    const { current, effective, stopNext } = this;
    this.stopNext = false;
    this.current = context;
    this.effective = context;
    this.depth++;
    let result: number;
    try {
      result = call(context.id, a, b, c, d);
    } catch (error) {
      if (!isTrap(error)) throw error;
      this.dead = true;
      this.deferred.length = 0;
      this.stopNext = false;
      throw new VmTrap(this.vm, error);
    } finally {
      this.current = current;
      this.effective = effective;
      this.depth--;
    }
    const stopped = this.stopNext;
    this.stopNext = stopNext;
    while (this.deferred.length > 0 && this.depth === 0) (this.deferred.shift() as () => void)();
    this.stopped = stopped;
    return result;
  }

  /** Does something after the callback, or at once where the host is told to nest. */
  defer(action: () => void): void {
    if (this.vm.host.nestActions) action();
    else this.deferred.push(action);
  }

  /** Does something when no callback is under way: at once, or after the one that is. */
  whenIdle(action: () => void): void {
    if (this.depth === 0) action();
    else this.deferred.push(action);
  }

  inBounds(ptr: number, size: number): boolean {
    return ptr + size <= this.memory.buffer.byteLength;
  }

  /** Byte string at an address; empty when out of bounds. */
  read(ptr: number, size: number): Bytes {
    const at = ptr >>> 0;
    return this.view().toString("latin1", at, at + (size >>> 0));
  }

  /** A copy of bytes. */
  readBuffer(ptr: number, size: number): Buffer {
    const at = ptr >>> 0;
    return Buffer.from(this.view().subarray(at, at + (size >>> 0)));
  }

  writeU32(ptr: number, value: number): number {
    if (!this.inBounds(ptr >>> 0, 4)) return Status.InvalidMemoryAccess;
    this.view().writeUInt32LE(value >>> 0, ptr >>> 0);
    return Status.Ok;
  }

  writeU64(ptr: number, value: bigint): number {
    if (!this.inBounds(ptr >>> 0, 8)) return Status.InvalidMemoryAccess;
    this.view().writeBigUInt64LE(BigInt.asUintN(64, value), ptr >>> 0);
    return Status.Ok;
  }

  /** Memory of the guest for `size` bytes, 0 if it has none to give. */
  allocate(size: number): number {
    const ptr = this.malloc(size) >>> 0;
    return ptr !== 0 && this.inBounds(ptr, size) ? ptr : 0;
  }

  private point(ptrCell: number, sizeCell: number, ptr: number, size: number): number {
    return this.writeU32(ptrCell, ptr) || this.writeU32(sizeCell, size);
  }

  giveBytes(value: Uint8Array, ptrCell: number, sizeCell: number): number {
    if (value.length === 0) return this.point(ptrCell, sizeCell, 0, 0);
    const ptr = this.allocate(value.length);
    if (ptr === 0) return Status.InvalidMemoryAccess;
    this.view().set(value, ptr);
    return this.point(ptrCell, sizeCell, ptr, value.length);
  }

  giveText(value: Bytes, ptrCell: number, sizeCell: number): number {
    if (value.length === 0) return this.point(ptrCell, sizeCell, 0, 0);
    const ptr = this.allocate(value.length);
    if (ptr === 0) return Status.InvalidMemoryAccess;
    this.view().write(value, ptr, value.length, "latin1");
    return this.point(ptrCell, sizeCell, ptr, value.length);
  }

  givePairs(map: HeaderMap, ptrCell: number, sizeCell: number): number {
    const size = pairsSize(map.names, map.values);
    const ptr = this.allocate(size);
    if (ptr === 0) return Status.InvalidMemoryAccess;
    writePairs(this.view(), ptr, map.names, map.values);
    return this.point(ptrCell, sizeCell, ptr, size);
  }

  /** Gives `size` bytes from `start` on out of consecutive chunks. */
  giveChunks(
    chunks: readonly Uint8Array[],
    start: number,
    size: number,
    ptrCell: number,
    sizeCell: number,
  ): number {
    const ptr = this.allocate(size);
    if (ptr === 0) return Status.InvalidMemoryAccess;
    const view = this.view();
    let skip = start;
    let done = 0;
    for (const chunk of chunks) {
      if (skip >= chunk.length) {
        skip -= chunk.length;
        continue;
      }
      const take = Math.min(size - done, chunk.length - skip);
      if (take <= 0) break;
      view.set(
        skip === 0 && take === chunk.length ? chunk : chunk.subarray(skip, skip + take),
        ptr + done,
      );
      done += take;
      skip = 0;
    }
    return this.point(ptrCell, sizeCell, ptr, size);
  }
}
