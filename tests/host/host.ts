import { type Bytes, LOG_LEVELS, type LogLevel, toText } from "./abi.ts";
import type { Call } from "./calls.ts";
import { type Clock, ManualClock, msToNs } from "./clock.ts";
import { type Context, VmTrap } from "./guest.ts";
import { Metrics } from "./metrics.ts";
import { casCounter, SharedData } from "./shareddata.ts";
import type { Stream } from "./stream.ts";
import { type Root, Vm, type VmOptions } from "./vm.ts";

export interface LogLine {
  level: LogLevel;
  message: string;
}

/** A property's value for a path: bytes, UTF-8 text, or undefined to let the host's own answer. */
export type PropertyResolver = (
  path: readonly string[],
  context: Context,
) => Uint8Array | string | undefined;

export interface HostOptions {
  clock?: Clock;
  /** Clusters that calls can go to. */
  clusters?: readonly string[];
  /** As in the plugin's configuration; false: StopIteration at headers stops all. Default true. */
  allowOnHeadersStopIteration?: boolean;
  /** Default 1 MiB. */
  requestBodyBufferLimit?: number;
  /** Default 1 MiB. */
  responseBodyBufferLimit?: number;
  /** Lowest level that is logged. Default info. */
  logLevel?: LogLevel;
  /** Gets each line; without it the last 10,000 are kept in `logs`. */
  onLog?: (line: LogLine) => void;
  /** Gets each call as it is sent. */
  onCall?: (call: Call) => void;
  property?: PropertyResolver;
  /** Start a dead VM again when the next stream comes. Default false: streams get 503. */
  reloadOnTrap?: boolean;
  /** Throw VmTrap out of what led to it. Default true; false: the stream fails, as in Envoy. */
  throwOnTrap?: boolean;
  /** Do answers and continues inside the host function, so that callbacks nest. Default false. */
  nestActions?: boolean;
}

const MAX_LOG_LINES = 10_000;
const DEFAULT_BUFFER_LIMIT = 1024 * 1024;

/** One Envoy: what its workers' VMs share. */
export class Host {
  readonly clock: Clock;
  readonly metrics = new Metrics();
  readonly vms: Vm[] = [];
  readonly logs: LogLine[] = [];
  /** Calls that wait for an answer. */
  readonly calls: Call[] = [];
  readonly clusters: Set<string>;
  readonly allowOnHeadersStopIteration: boolean;
  readonly requestBodyBufferLimit: number;
  readonly responseBodyBufferLimit: number;
  readonly reloadOnTrap: boolean;
  readonly throwOnTrap: boolean;
  readonly nestActions: boolean;
  readonly logLevel: number;
  readonly onCall: ((call: Call) => void) | undefined;
  readonly property: PropertyResolver | undefined;
  /** How far the wall clock was set forward or back; what doesn't follow it goes on. */
  wallAheadMs = 0;
  /** Instances of modules made so far. */
  instances = 0;

  private readonly stores = new Map<string, SharedData>();
  private readonly nextCas = casCounter();
  private readonly onLog: ((line: LogLine) => void) | undefined;

  constructor(options: HostOptions = {}) {
    this.clock = options.clock ?? new ManualClock();
    this.clusters = new Set(options.clusters ?? []);
    this.allowOnHeadersStopIteration = options.allowOnHeadersStopIteration ?? true;
    this.requestBodyBufferLimit = options.requestBodyBufferLimit ?? DEFAULT_BUFFER_LIMIT;
    this.responseBodyBufferLimit = options.responseBodyBufferLimit ?? DEFAULT_BUFFER_LIMIT;
    this.reloadOnTrap = options.reloadOnTrap ?? false;
    this.throwOnTrap = options.throwOnTrap ?? true;
    this.nestActions = options.nestActions ?? false;
    this.logLevel = LOG_LEVELS.indexOf(options.logLevel ?? "info");
    this.onLog = options.onLog;
    this.onCall = options.onCall;
    this.property = options.property;
  }

  /** The wall clock, ns since 1970. */
  wallNs(): bigint {
    return this.clock.now() + msToNs(this.wallAheadMs);
  }

  createVm(module: WebAssembly.Module, options: VmOptions = {}): Vm {
    const vm = new Vm(this, module, options);
    this.vms.push(vm);
    return vm;
  }

  /** What VMs with this id share. */
  shared(vmId = ""): SharedData {
    let store = this.stores.get(vmId);
    if (!store) {
      store = new SharedData(this.nextCas);
      this.stores.set(vmId, store);
    }
    return store;
  }

  /**
   * Moves a ManualClock on and ticks each root when its time comes, earliest first, in order of
   * the VMs where times are equal.
   */
  advance(ms: number): void {
    if (!(this.clock instanceof ManualClock)) throw new Error("the clock isn't ours to move");
    const clock = this.clock;
    const target = new ManualClock(0);
    target.moveTo(clock.now());
    target.advance(ms);
    const endNs = target.now();
    for (let root = this.nextTick(endNs); root; root = this.nextTick(endNs)) {
      clock.moveTo(root.nextTickNs);
      root.tick();
    }
    clock.moveTo(endNs);
  }

  /** The root whose tick comes first, if it comes by `untilNs`. */
  nextTick(untilNs: bigint): Root | undefined {
    let first: Root | undefined;
    for (const vm of this.vms) {
      for (const root of vm.roots) {
        if (root.tickPeriodMs <= 0 || root.nextTickNs > untilNs || vm.dead) continue;
        if (!first || root.nextTickNs < first.nextTickNs) first = root;
      }
    }
    return first;
  }

  log(level: number, message: Bytes): void {
    if (level < this.logLevel) return;
    const line = { level: LOG_LEVELS[level] ?? "critical", message: toText(message) };
    if (this.onLog) {
      this.onLog(line);
      return;
    }
    if (this.logs.length >= MAX_LOG_LINES) this.logs.shift();
    this.logs.push(line);
  }

  /** Runs what may trap; a stream that was being served fails. */
  guard(action: () => void, stream?: Stream): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof VmTrap)) throw error;
      stream?.fail();
      if (this.throwOnTrap) throw error;
    }
  }
}
