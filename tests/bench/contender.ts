/** A router under measurement, running. */
export interface Running {
  port: number;
  /** CPU time that it and its children used so far, in milliseconds. */
  cpuMs(): number;
  residentBytes(): number;
  stop(): Promise<void>;
}

/** What every router is started with. */
export interface Setting {
  /** `ip:port` of each backend. */
  hosts: string[];
  /** The core that the router has for itself. */
  core: number;
}

/** A router that can be measured. The first in the list is what the others are compared to. */
export interface Contender {
  name: string;
  /** Why it can't run here; undefined when it can. */
  missing(): string | undefined;
  start(setting: Setting): Promise<Running>;
}
