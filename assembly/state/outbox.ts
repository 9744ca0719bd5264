import { SharedResult } from "../host/shareddata";
import { InFlight } from "./inflight";
import { Keys } from "./keys";
import { MAX_HOSTS } from "./layout";
import { SharedRecord } from "./record";

/** Most bytes of placements that wait for the next message; what doesn't fit goes at once. */
export const PENDING_BYTES: i32 = 32768;

const SEQUENCE: usize = 4;
const GATEWAY: usize = 8;
const PUSHED_MS: usize = 16;
const FULL_MS: usize = 24;
const SELF: usize = 32;
const SLOTS: usize = 40;
const PENDING: usize = 44;
const PLACEMENTS: usize = 48;
const COPIED: usize = 52;
const HEAD: i32 = 56;
const SENT_BYTES: i32 = 40;

/**
 * What this Envoy tells its peers, one voice for all workers: its name, the number of its last message, what it said of each
 * host, and placements that wait for the next message. A worker that changes it does so by compare-and-set, and whoever
 * gets a new number in sends the message.
 *
 * ```
 * ┌──────────┬──────────┬─────────┬───────────┬─────────┬───────────┬───────┬───────┬────────────┬────────┐
 * │version 4 │sequence 4│gateway 8│pushed ms 8│full ms 8│self hash 8│slots 4│bytes 4│placements 4│copied 4│
 * └──────────┴──────────┴─────────┴───────────┴─────────┴───────────┴───────┴───────┴────────────┴────────┘
 * per slot, as said last: │host hash 8│q 2│d 2│work 4│ 8 │newest 8│clock 8│      then `bytes` of placements
 * ```
 */
export class Outbox {
  private record: SharedRecord;

  constructor(keys: Keys) {
    this.record = new SharedRecord(
      keys.single("outbox"),
      HEAD + MAX_HOSTS * SENT_BYTES + PENDING_BYTES,
    );
    this.record.create();
  }

  /** Reads it, as the base of a change. False: nobody has written it yet. */
  open(): bool {
    return this.record.load() && this.gateway != 0;
  }

  /** Writes it back; false when another worker wrote since `open`. */
  commit(): bool {
    const size = HEAD + this.slots * SENT_BYTES + this.pendingBytes;
    return this.record.store(size) == SharedResult.Ok;
  }

  /** Number of the last message. */
  get sequence(): u32 {
    return load<u32>(this.record.bytes + SEQUENCE);
  }
  set sequence(v: u32) {
    store<u32>(this.record.bytes + SEQUENCE, v);
  }
  /** This Envoy's name among gateways, drawn at its start; 0 while it has none. */
  get gateway(): u64 {
    return load<u64>(this.record.bytes + GATEWAY);
  }
  set gateway(v: u64) {
    store<u64>(this.record.bytes + GATEWAY, v);
  }
  /** When the last message, and the last full one, was sent, ms. */
  get pushedMs(): f64 {
    return load<f64>(this.record.bytes + PUSHED_MS);
  }
  set pushedMs(v: f64) {
    store<f64>(this.record.bytes + PUSHED_MS, v);
  }
  get fullMs(): f64 {
    return load<f64>(this.record.bytes + FULL_MS);
  }
  set fullMs(v: f64) {
    store<f64>(this.record.bytes + FULL_MS, v);
  }
  /** Hash of the member's address under which this Envoy reaches itself, 0 while that isn't known. */
  get self(): u64 {
    return load<u64>(this.record.bytes + SELF);
  }
  set self(v: u64) {
    store<u64>(this.record.bytes + SELF, v);
  }

  /** Whether a worker has begun to take over another gateway's locations, and counts them. */
  get isCopied(): bool {
    return load<u32>(this.record.bytes + COPIED) != 0;
  }
  set isCopied(v: bool) {
    store<u32>(this.record.bytes + COPIED, v ? 1 : 0);
  }

  get pendingBytes(): i32 {
    return load<i32>(this.record.bytes + PENDING);
  }
  /** Placements that wait. */
  get placements(): i32 {
    return load<i32>(this.record.bytes + PLACEMENTS);
  }
  /** Address of the first of them; their hosts are slots. */
  get pending(): usize {
    return this.record.bytes + <usize>(HEAD + this.slots * SENT_BYTES);
  }

  /** Adds a placement. False: no room. */
  append(ptr: usize, len: i32): bool {
    const bytes = this.pendingBytes;
    if (bytes + len > PENDING_BYTES) return false;
    memory.copy(this.pending + <usize>bytes, ptr, len);
    store<i32>(this.record.bytes + PENDING, bytes + len);
    store<i32>(this.record.bytes + PLACEMENTS, this.placements + 1);
    return true;
  }

  /** Forgets the placements: they are on their way. */
  clear(): void {
    store<i32>(this.record.bytes + PENDING, 0);
    store<i32>(this.record.bytes + PLACEMENTS, 0);
  }

  /** Makes the table of what was said as long as the host directory, which never shrinks. */
  grow(slots: i32): void {
    const from = this.slots;
    if (slots <= from) return;
    memory.copy(this.sent(slots), this.pending, this.pendingBytes);
    memory.fill(this.sent(from), 0, (slots - from) * SENT_BYTES);
    store<i32>(this.record.bytes + SLOTS, slots);
  }

  private get slots(): i32 {
    return load<i32>(this.record.bytes + SLOTS);
  }

  /** Whether what was said of a host is no longer true. */
  differs(slot: i32, host: u64, inFlight: InFlight): bool {
    const at = this.sent(slot);
    return (
      load<u64>(at) != host ||
      <i32>load<u16>(at + 8) != inFlight.waiting(slot) ||
      <i32>load<u16>(at + 10) != inFlight.decoding(slot) ||
      load<f32>(at + 12) != <f32>inFlight.workMs(slot) ||
      load<f64>(at + 24) != inFlight.newestMs(slot) ||
      load<f64>(at + 32) != inFlight.ownClockTokens(slot)
    );
  }

  /** Notes what is being said of a host. */
  note(slot: i32, host: u64, inFlight: InFlight): void {
    const at = this.sent(slot);
    store<u64>(at, host);
    store<u16>(at + 8, <u16>inFlight.waiting(slot));
    store<u16>(at + 10, <u16>inFlight.decoding(slot));
    store<f32>(at + 12, <f32>inFlight.workMs(slot));
    store<f64>(at + 24, inFlight.newestMs(slot));
    store<f64>(at + 32, inFlight.ownClockTokens(slot));
  }

  @inline
  private sent(slot: i32): usize {
    return this.record.bytes + <usize>(HEAD + slot * SENT_BYTES);
  }
}
