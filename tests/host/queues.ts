import { type Bytes, Status } from "./abi.ts";

interface Queue<Owner> {
  owner: Owner;
  values: Buffer[];
}

/** Shared queues by name within a `vm_id`. Only who registered a queue last is woken. */
export class Queues<Owner> {
  private readonly tokens = new Map<string, number>();
  private readonly queues = new Map<number, Queue<Owner>>();
  private readonly wake: (owner: Owner, token: number) => void;

  constructor(wake: (owner: Owner, token: number) => void) {
    this.wake = wake;
  }

  /** Token of the queue; what is in it stays. */
  register(vmId: string, name: Bytes, owner: Owner): number {
    const key = `${vmId}\0${name}`;
    let token = this.tokens.get(key);
    if (token === undefined) {
      token = this.tokens.size + 1;
      this.tokens.set(key, token);
    }
    const queue = this.queues.get(token);
    if (queue) queue.owner = owner;
    else this.queues.set(token, { owner, values: [] });
    return token;
  }

  /** 0: there is none. */
  resolve(vmId: string, name: Bytes): number {
    return this.tokens.get(`${vmId}\0${name}`) ?? 0;
  }

  enqueue(token: number, value: Buffer): number {
    const queue = this.queues.get(token);
    if (!queue) return Status.NotFound;
    queue.values.push(value);
    this.wake(queue.owner, token);
    return Status.Ok;
  }

  /** The first value, or the status that says why there is none. */
  dequeue(token: number): Buffer | number {
    const queue = this.queues.get(token);
    if (!queue) return Status.NotFound;
    return queue.values.shift() ?? Status.Empty;
  }
}
