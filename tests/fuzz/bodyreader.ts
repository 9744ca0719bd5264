import { instantiate } from "./build.ts";

interface Exports {
  memory: WebAssembly.Memory;
  inputAddress(): number;
  begin(): void;
  feed(offset: number, len: number): void;
  finish(isTruncated: number): number;
  seal(seed: bigint, mediaTokens: number): number;
  idAt(i: number): bigint;
  bytesAt(i: number): number;
  fixedAt(i: number): number;
  conversation(seed: bigint, session: bigint): bigint;
  hashOf(offset: number, len: number): bigint;
  modelPtr(): number;
  [fact: string]: unknown;
}

/** What `finish` says of a body, by its number. */
export const STATUSES = ["complete", "truncated", "malformed", "no prompt"] as const;
export type Status = (typeof STATUSES)[number];

/** The filter's reader of request bodies, in a module of its own. */
export class BodyReader {
  readonly #exports: Exports;

  private constructor(exports: Exports) {
    this.#exports = exports;
  }

  static async start(): Promise<BodyReader> {
    return new BodyReader((await instantiate("reader")) as unknown as Exports);
  }

  get memoryBytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Reads a body in pieces that end at `cuts`. */
  read(bytes: Uint8Array, cuts: readonly number[] = []): Status {
    const { begin, feed, finish } = this.#exports;
    this.#load(bytes);
    begin();
    let from = 0;
    for (const cut of [...cuts, bytes.length]) {
      feed(from, cut - from);
      from = cut;
    }
    return statusOf(finish(0));
  }

  /** Reads the beginning of a body that was cut off for its size. */
  readStart(bytes: Uint8Array, length: number): Status {
    const { begin, feed, finish } = this.#exports;
    this.#load(bytes);
    begin();
    feed(0, length);
    return statusOf(finish(1));
  }

  /** A number that was read, by its name in `assembly/reader.ts`. */
  fact(name: string): number {
    return (this.#exports[name] as () => number)();
  }

  /** The hash of a text that was read. */
  hashFact(name: string): bigint {
    return (this.#exports[name] as () => bigint)();
  }

  /** The hash of a text, by the same function. Reads nothing, but what was read must be asked for before. */
  hashOf(text: string): bigint {
    const bytes = Buffer.from(text);
    if (bytes.length === 0) return 0n;
    this.#load(bytes);
    return this.#exports.hashOf(0, bytes.length);
  }

  model(): Buffer {
    const { memory, modelPtr } = this.#exports;
    return Buffer.from(memory.buffer, modelPtr(), this.fact("modelLen"));
  }

  conversation(seed: bigint): bigint {
    return this.#exports.conversation(seed, 0n);
  }

  /** The chain's entries: id, bytes of prompt up to there, tokens of fixed size among them. */
  chain(seed: bigint, mediaTokens: number): { id: bigint; bytes: number; fixed: number }[] {
    const { seal, idAt, bytesAt, fixedAt } = this.#exports;
    return Array.from({ length: seal(seed, mediaTokens) }, (_, i) => ({
      id: idAt(i),
      bytes: bytesAt(i),
      fixed: fixedAt(i),
    }));
  }

  #load(bytes: Uint8Array): void {
    const { memory, inputAddress } = this.#exports;
    new Uint8Array(memory.buffer, inputAddress(), bytes.length).set(bytes);
  }
}

function statusOf(number: number): Status {
  const status = STATUSES[number];
  if (status === undefined) throw new Error(`the reader has no status ${number}`);
  return status;
}
