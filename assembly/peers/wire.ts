/**
 * What gateways send each other, little endian. Times are ages at the time of sending, so clocks need not agree.
 *
 * ```
 * head                                                                                            40 bytes
 * ┌─────────┬─────────┬──────┬───────┬───────┬─────────┬───────┬────────────┬───────┬───┬─────────┐
 * │magic 3  │version 1│kind 1│flags 1│hosts 2│gateway 8│sequence 4│places 2 │ zero 2│ – │sent ms 8│ count 4 │ cursor 4
 * └─────────┴─────────┴──────┴───────┴───────┴─────────┴──────────┴─────────┴───────┴───┴─────────┘
 * update: per host                                                                                32 bytes
 * ┌──────────────┬─────┬─────┬─────────┬───────────┬───────────────┬─────────────┐
 * │address hash 8│q 2  │d 2  │work ms 4│context 4  │age of newest 4│token clock 8│
 * └──────────────┴─────┴─────┴─────────┴───────────┴───────────────┴─────────────┘
 * then per placement                                                                    24 + 8 n bytes
 * ┌──────┬───┬───────┬────────┬──────────────┬──────────────┬─────────────┬──────────┐
 * │host 2│n 2│flags 1│length 1│cached 2 (64s)│conversation 8│of any model 8│n × id 8 │
 * └──────┴───┴───────┴────────┴──────────────┴──────────────┴─────────────┴──────────┘
 * page of a table: `hosts` × address hash 8, then `count` entries                       16 bytes each
 * ┌─────┬──────┬───────┬───┬─────────────────────┐
 * │tag 8│host 2│forks 1│ 1 │age 4 (16-token ticks)│
 * └─────┴──────┴───────┴───┴─────────────────────┘
 * ```
 *
 * Hosts are named by a hash of their address, for slots differ between gateways. Whatever changes the meaning of a hash, a
 * chain id or this layout raises VERSION: then gateways of both versions decide each on their own until all are alike.
 */

/** "WRP". */
export const MAGIC: u32 = 0x505257;
export const VERSION: u8 = 1;

export const HEAD_BYTES: i32 = 40;
export const ROW_BYTES: i32 = 32;
export const PLACEMENT_HEAD: i32 = 24;
export const PAGE_ENTRY: i32 = 16;
/** Longest message; longer ones are refused unread. */
export const MAX_MESSAGE: i32 = 65536;
/** Most boundaries of one placement. */
export const MAX_IDS: i32 = 512;
/** Most entries of one page of a table. */
export const MAX_PAGE_ENTRIES: i32 = 3400;

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
/** Of a placement: its first boundary is where a conversation left others. */
export const FLAG_FORK: u8 = 1;

/** Largest values that are believed; more is taken for damage. */
export const MAX_WORK_MS: f64 = 1e7;
export const MAX_CONTEXT: f64 = 1e10;
export const MAX_AGE_MS: f64 = 1e9;
export const MAX_CLOCK: f64 = 1e15;

const KIND: usize = 4;
const FLAGS: usize = 5;
const HOSTS: usize = 6;
const GATEWAY: usize = 8;
const SEQUENCE: usize = 16;
const PLACEMENTS: usize = 20;
const SENT_MS: usize = 24;
const COUNT: usize = 32;
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
  /** Counts its updates, from 1. */
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
  /** The sender's clock, ms. Only differences between messages mean anything. */
  @inline
  static sentMs(at: usize): f64 {
    return load<f64>(at + SENT_MS);
  }
  @inline
  static setSentMs(at: usize, v: f64): void {
    store<f64>(at + SENT_MS, v);
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

/** What a gateway has in flight at one host. */
@unmanaged
export class Row {
  static write(
    at: usize,
    host: u64,
    waiting: i32,
    decoding: i32,
    workMs: f64,
    contextTokens: f64,
    newestAgeMs: f64,
    clockTokens: f64,
  ): void {
    store<u64>(at, host);
    store<u16>(at + 8, <u16>min(waiting, 65535));
    store<u16>(at + 10, <u16>min(decoding, 65535));
    store<f32>(at + 12, <f32>Math.min(Math.max(workMs, 0), MAX_WORK_MS));
    store<f32>(at + 16, <f32>Math.min(Math.max(contextTokens, 0), MAX_CONTEXT));
    store<f32>(at + 20, <f32>Math.min(Math.max(newestAgeMs, 0), MAX_AGE_MS));
    store<f64>(at + 24, Math.min(Math.max(clockTokens, 0), MAX_CLOCK));
  }
  @inline
  static host(at: usize): u64 {
    return load<u64>(at);
  }
  /** Requests without a first token. */
  @inline
  static waiting(at: usize): i32 {
    return <i32>load<u16>(at + 8);
  }
  /** Requests past their first token. */
  @inline
  static decoding(at: usize): i32 {
    return <i32>load<u16>(at + 10);
  }
  /** Expected prefill ms of the waiting. */
  @inline
  static workMs(at: usize): f64 {
    return <f64>load<f32>(at + 12);
  }
  @inline
  static contextTokens(at: usize): f64 {
    return <f64>load<f32>(at + 16);
  }
  /** How long ago the queue was as long as `workMs` says, ms. */
  @inline
  static newestAgeMs(at: usize): f64 {
    return <f64>load<f32>(at + 20);
  }
  /** Tokens that the gateway ever had inserted into the host's cache. */
  @inline
  static clockTokens(at: usize): f64 {
    return load<f64>(at + 24);
  }
}

/** Tokens in a step of a placement's cached tokens. */
const CACHED_UNIT: f64 = 64;

/** A request that went to a host, and the boundaries of its prompt that are new there. */
@unmanaged
export class Placement {
  static write(
    at: usize,
    host: i32,
    ids: i32,
    isFork: bool,
    chainLength: i32,
    conversation: u64,
    anyModel: u64,
    cachedTokens: f64,
  ): void {
    store<u16>(at, <u16>host);
    store<u16>(at + 2, <u16>ids);
    store<u8>(at + 4, isFork ? FLAG_FORK : 0);
    store<u8>(at + 5, <u8>min(chainLength, 255));
    store<u16>(at + 6, <u16>Math.min(cachedTokens / CACHED_UNIT, <f64>u16.MAX_VALUE));
    store<u64>(at + 8, conversation);
    store<u64>(at + 16, anyModel);
  }
  /** Position of its host among the message's rows. */
  @inline
  static host(at: usize): i32 {
    return <i32>load<u16>(at);
  }
  @inline
  static setHost(at: usize, v: i32): void {
    store<u16>(at, <u16>v);
  }
  @inline
  static ids(at: usize): i32 {
    return <i32>load<u16>(at + 2);
  }
  @inline
  static isFork(at: usize): bool {
    return (load<u8>(at + 4) & FLAG_FORK) != 0;
  }
  /** Length of its whole chain; 255 stands for any longer one. */
  @inline
  static chainLength(at: usize): i32 {
    return <i32>load<u8>(at + 5);
  }
  /** Prompt tokens expected in the host's cache, up to the first of its boundaries; 0 for none. */
  @inline
  static cachedTokens(at: usize): f64 {
    return <f64>load<u16>(at + 6) * CACHED_UNIT;
  }
  /** Tags of its conversation in the location table, 0 for none. */
  @inline
  static conversation(at: usize): u64 {
    return load<u64>(at + 8);
  }
  @inline
  static anyModel(at: usize): u64 {
    return load<u64>(at + 16);
  }
  @inline
  static id(at: usize, i: i32): u64 {
    return load<u64>(at + <usize>PLACEMENT_HEAD + ((<usize>i) << 3));
  }
  @inline
  static setId(at: usize, i: i32, v: u64): void {
    store<u64>(at + <usize>PLACEMENT_HEAD + ((<usize>i) << 3), v);
  }
  /** Its bytes on the wire. */
  @inline
  static size(at: usize): i32 {
    return PLACEMENT_HEAD + (Placement.ids(at) << 3);
  }
}

/** A location, in a page of a table. */
@unmanaged
export class PageEntry {
  static write(at: usize, tag: u64, host: i32, forks: i32, ageTicks: u32): void {
    store<u64>(at, tag);
    store<u16>(at + 8, <u16>host);
    store<u8>(at + 10, <u8>forks);
    store<u8>(at + 11, 0);
    store<u32>(at + 12, ageTicks);
  }
  @inline
  static tag(at: usize): u64 {
    return load<u64>(at);
  }
  /** Position of its host among the page's hosts. */
  @inline
  static host(at: usize): i32 {
    return <i32>load<u16>(at + 8);
  }
  @inline
  static forks(at: usize): i32 {
    return <i32>load<u8>(at + 10);
  }
  @inline
  static ageTicks(at: usize): u32 {
    return load<u32>(at + 12);
  }
}
