import { HEAD_BYTES, MAGIC, VERSION } from "./wire";

export const enum Kind {
  /** Rows and placements. */
  Update = 1,
  /** The answer to an update. */
  Taken = 2,
  /** Asks for a page of the location table, from `cursor` on. */
  Ask = 3,
  /** A page of it. `cursor` is where the next begins, 0 after the last. */
  Page = 4,
}

/** Of an update: hosts that it doesn't name have nothing in flight. */
export const FLAG_FULL: u8 = 1;
const KIND: usize = 4;
const FLAGS: usize = 5;
const HOSTS: usize = 6;
const GATEWAY: usize = 8;
const SEQUENCE: usize = 16;
const PLACEMENTS: usize = 20;
const SECRET: usize = 22;
const SENT_MS: usize = 24;
const COUNT: usize = 32;
const PROPOSED: usize = 32;
const SETTLED: usize = 34;
const CURSOR: usize = 36;

/** The head of a message. */
@unmanaged
export class Head {
  static write(at: usize, kind: Kind, gateway: u64): void {
    memory.fill(at, 0, HEAD_BYTES);
    store<u32>(at, MAGIC | ((<u32>VERSION) << 24));
    store<u8>(at + KIND, <u8>kind);
    store<u64>(at + GATEWAY, gateway);
  }
  @inline
  static kind(at: usize): i32 {
    return <i32>load<u8>(at + KIND);
  }
  @inline
  static isFull(at: usize): bool {
    return (load<u8>(at + FLAGS) & FLAG_FULL) != 0;
  }
  @inline
  static setFull(at: usize, full: bool): void {
    store<u8>(at + FLAGS, full ? FLAG_FULL : 0);
  }
  @inline
  static hosts(at: usize): i32 {
    return <i32>load<u16>(at + HOSTS);
  }
  @inline
  static setHosts(at: usize, v: i32): void {
    store<u16>(at + HOSTS, <u16>v);
  }
  /** Who sends: a number that a gateway draws when it starts. Never 0. */
  @inline
  static gateway(at: usize): u64 {
    return load<u64>(at + GATEWAY);
  }
  /** Counts its updates, from 1; of the answer to one, the number of the answering gateway's last. */
  @inline
  static sequence(at: usize): u32 {
    return load<u32>(at + SEQUENCE);
  }
  @inline
  static setSequence(at: usize, v: u32): void {
    store<u32>(at + SEQUENCE, v);
  }
  @inline
  static placements(at: usize): i32 {
    return <i32>load<u16>(at + PLACEMENTS);
  }
  @inline
  static setPlacements(at: usize, v: i32): void {
    store<u16>(at + PLACEMENTS, <u16>v);
  }
  /** Mark of the secret that the sender's hashes are made with (`secretMark`), of updates and questions. */
  @inline
  static secret(at: usize): u16 {
    return load<u16>(at + SECRET);
  }
  @inline
  static setSecret(at: usize, v: u16): void {
    store<u16>(at + SECRET, v);
  }
  /** The sender's clock, ms. Only differences between messages mean anything. */
  @inline
  static sentMs(at: usize): f64 {
    return load<f64>(at + SENT_MS);
  }
  @inline
  static setSentMs(at: usize, v: f64): void {
    store<f64>(at + SENT_MS, v);
  }
  /** Heavy prompts that the sender ever proposed to send somewhere, and that it then did or gave up, modulo 2^16. */
  @inline
  static proposed(at: usize): u16 {
    return load<u16>(at + PROPOSED);
  }
  @inline
  static settled(at: usize): u16 {
    return load<u16>(at + SETTLED);
  }
  @inline
  static setProposals(at: usize, proposed: u16, settled: u16): void {
    store<u16>(at + PROPOSED, proposed);
    store<u16>(at + SETTLED, settled);
  }
  /** Entries of a page. */
  @inline
  static count(at: usize): u32 {
    return load<u32>(at + COUNT);
  }
  @inline
  static setCount(at: usize, v: u32): void {
    store<u32>(at + COUNT, v);
  }
  @inline
  static cursor(at: usize): u32 {
    return load<u32>(at + CURSOR);
  }
  @inline
  static setCursor(at: usize, v: u32): void {
    store<u32>(at + CURSOR, v);
  }
}
