import { appendRun, BLOCK_TOKENS } from "./runs.ts";

/** Bytes of one pseudo token. */
export const TOKEN_BYTES = 4;

/** Tokens that stand for an image or a piece of audio, whatever its size. */
const MEDIA_TOKENS = 576;

/** A growing list of tokens: each 4 bytes of a piece's UTF-8 are one, the last one padded. */
export class TokenList {
  /** Token values, 32 bits each; only the first `length` count. */
  values = new Int32Array(1024);
  length = 0;

  /** One piece of text; pieces never share a token, so a list stays a prefix as pieces follow. */
  pushText(text: string): void {
    const bytes = Buffer.from(text, "utf8");
    const count = Math.ceil(bytes.length / TOKEN_BYTES);
    this.reserve(count);
    const whole = Math.floor(bytes.length / TOKEN_BYTES);
    for (let i = 0; i < whole; i += 1) {
      this.values[this.length + i] = bytes.readInt32LE(i * TOKEN_BYTES);
    }
    if (whole < count) {
      let last = 0;
      for (let i = whole * TOKEN_BYTES; i < bytes.length; i += 1) {
        last = (last << 8) | (bytes[i] as number);
      }
      this.values[this.length + whole] = last;
    }
    this.length += count;
  }

  /** A single token by number. */
  pushToken(token: number): void {
    this.reserve(1);
    this.values[this.length] = token | 0;
    this.length += 1;
  }

  /** An image or audio, known by its data or address. */
  pushMedia(data: string): void {
    const digest = hashText(data);
    for (let i = 0; i < MEDIA_TOKENS; i += 1) this.pushToken(mix(digest, i));
  }

  pushList(other: TokenList): void {
    this.reserve(other.length);
    this.values.set(other.values.subarray(0, other.length), this.length);
    this.length += other.length;
  }

  private reserve(count: number): void {
    if (this.length + count <= this.values.length) return;
    const grown = new Int32Array(Math.max(this.length + count, this.values.length * 2));
    grown.set(this.values.subarray(0, this.length));
    this.values = grown;
  }
}

/** 32 mixed bits of two numbers. */
export function mix(a: number, b: number): number {
  let h = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  h ^= h >>> 13;
  return h | 0;
}

export function hashText(text: string): number {
  let h = text.length;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix(h, text.length);
}

/** Hashes remembered at most; two generations of this many. */
const GENERATION_BLOCKS = 1_000_000;

/**
 * Names blocks by chained hash, new ones with consecutive ids, so that a new document is one run.
 * What has not been seen for one to two generations is forgotten (and would get a new name).
 */
export class BlockNames {
  private young = new Map<number, number>();
  private old = new Map<number, number>();
  private next = 0;

  /** Runs of the full blocks of `tokens`; `seed` keeps models, adapters and salts apart. */
  name(tokens: TokenList, seed: number): number[] {
    const runs: number[] = [];
    const blocks = Math.floor(tokens.length / BLOCK_TOKENS);
    const { values } = tokens;
    let low = mix(seed, 1);
    let high = mix(seed, 2);
    for (let block = 0; block < blocks; block += 1) {
      const end = (block + 1) * BLOCK_TOKENS;
      for (let i = block * BLOCK_TOKENS; i < end; i += 1) {
        const value = values[i] as number;
        low = Math.imul(low ^ value, 0x9e3779b1);
        low ^= low >>> 15;
        high = Math.imul((high + value) | 0, 0x85ebca77);
        high ^= high >>> 13;
      }
      appendRun(runs, this.id((high >>> 0) * 0x200000 + (low >>> 11)), 1);
    }
    return runs;
  }

  private id(hash: number): number {
    let id = this.young.get(hash);
    if (id !== undefined) return id;
    id = this.old.get(hash);
    if (id === undefined) {
      id = this.next;
      this.next += 1;
    }
    if (this.young.size >= GENERATION_BLOCKS) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(hash, id);
    return id;
  }
}
