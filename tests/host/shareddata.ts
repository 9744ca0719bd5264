import { type Bytes, Status } from "./abi.ts";

interface Entry {
  value: Buffer;
  cas: number;
}

/** Values that the VMs of one `vm_id` share, each with a version. There is no delete. */
export class SharedData {
  /** Values that were written. */
  writes = 0;
  private readonly entries = new Map<Bytes, Entry>();
  private readonly nextCas: () => number;

  /** @param nextCas gives the next version; one count for all stores of a host, never 0 */
  constructor(nextCas: () => number) {
    this.nextCas = nextCas;
  }

  /** The entry as stored: don't keep its value, the next write may reuse it. */
  get(key: Bytes): Readonly<Entry> | undefined {
    return this.entries.get(key);
  }

  /** Writes a copy. A version other than 0 must be the present one, if the key is there at all. */
  set(key: Bytes, value: Uint8Array, cas = 0): number {
    const entry = this.entries.get(key);
    if (!entry || cas === 0 || cas === entry.cas) this.writes++;
    if (!entry) {
      this.entries.set(key, { value: Buffer.from(value), cas: this.nextCas() });
      return Status.Ok;
    }
    if (cas !== 0 && cas !== entry.cas) return Status.CasMismatch;
    if (entry.value.length === value.length) entry.value.set(value);
    else entry.value = Buffer.from(value);
    entry.cas = this.nextCas();
    return Status.Ok;
  }

  keys(): Bytes[] {
    return [...this.entries.keys()];
  }

  /** Bytes of all keys and values. */
  get bytes(): number {
    let sum = 0;
    for (const [key, entry] of this.entries) sum += key.length + entry.value.length;
    return sum;
  }
}

/** Versions 1, 2, …, and 1 again after 2³² − 1. */
export function casCounter(): () => number {
  let last = 0;
  return () => {
    last = last === 0xffffffff ? 1 : last + 1;
    return last;
  };
}
