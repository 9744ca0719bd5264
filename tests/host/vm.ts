import { toBuffer } from "./abi.ts";
import { msToNs } from "./clock.ts";
import { Guest } from "./guest.ts";
import type { Host } from "./host.ts";
import { guestImports } from "./imports.ts";
import { Stream, type StreamOptions } from "./stream.ts";

export interface VmOptions {
  /** VMs of one id share data. */
  vmId?: string;
  vmConfig?: string | Uint8Array;
}

export interface RootOptions {
  rootId?: string;
  /** Name of the plugin. */
  name?: string;
  config?: string | Uint8Array;
}

/** One worker's instance of the module, with its roots. */
export class Vm {
  readonly host: Host;
  readonly vmId: string;
  readonly vmConfig: Buffer;
  readonly roots: Root[] = [];
  guest: Guest;
  /** How often it was started again. */
  reloads = 0;

  private readonly module: WebAssembly.Module;
  private nextContextId = 1;

  constructor(host: Host, module: WebAssembly.Module, options: VmOptions = {}) {
    this.host = host;
    this.module = module;
    this.vmId = options.vmId ?? "";
    this.vmConfig = toBuffer(options.vmConfig ?? "");
    this.guest = new Guest(this, module, guestImports);
  }

  get dead(): boolean {
    return this.guest.dead;
  }

  get memoryBytes(): number {
    return this.guest.memoryBytes;
  }

  /** Makes a root, starts and configures it; see `accepted`. */
  createRoot(options: RootOptions = {}): Root {
    const root = new Root(this, options);
    this.roots.push(root);
    root.start();
    return root;
  }

  /** A new instance with the same roots. Streams of the old one fail. */
  reload(): void {
    this.guest = new Guest(this, this.module, guestImports);
    this.nextContextId = 1;
    this.reloads++;
    for (const root of this.roots) root.start();
  }

  /** Ticks each root that has asked for ticks. */
  tick(): void {
    for (const root of this.roots) if (root.tickPeriodMs > 0) root.tick();
  }

  /** Ends all roots. */
  shutdown(): void {
    while (this.roots.length > 0) (this.roots[this.roots.length - 1] as Root).end();
  }

  /** The next id of a context. */
  takeContextId(): number {
    return this.nextContextId++;
  }
}

/** One plugin in one VM. */
export class Root {
  readonly vm: Vm;
  readonly rootId: string;
  readonly name: string;
  readonly config: Buffer;
  id = 0;
  /** Whether the filter took the VM's and its own configuration. */
  accepted = false;
  /** 0: no ticks. */
  tickPeriodMs = 0;
  nextTickNs = 0n;

  constructor(vm: Vm, options: RootOptions) {
    this.vm = vm;
    this.rootId = options.rootId ?? "";
    this.name = options.name ?? "";
    this.config = toBuffer(options.config ?? "");
  }

  get root(): Root {
    return this;
  }

  get guest(): Guest {
    return this.vm.guest;
  }

  start(): void {
    const guest = this.vm.guest;
    this.id = this.vm.takeContextId();
    this.tickPeriodMs = 0;
    this.accepted = false;
    guest.contexts.set(this.id, this);
    this.vm.host.guard(() => {
      guest.run(this, "proxy_on_context_create", 0, 0);
      guest.configuration = this.vm.vmConfig;
      const started = guest.run(this, "proxy_on_vm_start", 1, this.vm.vmConfig.length) !== 0;
      if (started) this.configure(this.config);
      guest.configuration = undefined;
    });
  }

  /** Gives the root a configuration. */
  configure(config: Buffer): boolean {
    const guest = this.vm.guest;
    guest.configuration = config;
    this.accepted = guest.run(this, "proxy_on_configure", 1, config.length) !== 0;
    guest.configuration = undefined;
    return this.accepted;
  }

  setTickPeriod(periodMs: number): void {
    this.tickPeriodMs = periodMs;
    this.nextTickNs = this.vm.host.clock.now() + msToNs(periodMs);
  }

  tick(): void {
    this.nextTickNs = this.vm.host.clock.now() + msToNs(this.tickPeriodMs);
    if (this.guest.dead) return;
    this.vm.host.guard(() => this.guest.run(this, "proxy_on_tick", 0));
  }

  createStream(options: StreamOptions = {}): Stream {
    if (this.guest.dead && this.vm.host.reloadOnTrap) this.vm.reload();
    return new Stream(this, options);
  }

  /** Ends it as a shutdown or a new configuration does. */
  end(): void {
    const at = this.vm.roots.indexOf(this);
    if (at >= 0) this.vm.roots.splice(at, 1);
    this.tickPeriodMs = 0;
    const guest = this.guest;
    if (guest.dead || !guest.contexts.has(this.id)) return;
    this.vm.host.guard(() => {
      if (guest.run(this, "proxy_on_done", 1) !== 0) this.remove();
    });
  }

  /** The last callback. */
  remove(): void {
    if (!this.guest.contexts.has(this.id)) return;
    this.guest.run(this, "proxy_on_delete", 0);
    this.guest.contexts.delete(this.id);
  }
}
