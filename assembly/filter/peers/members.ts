import { Text } from "../../bytes";
import { hashBytes } from "../../prefix/hash";
import { MemberList } from "../../state/members";
import { MAX_PEERS } from "../../state/layout";

/** Messages to one gateway that may be without an answer; more would pile up before one that doesn't answer. */
const OUT_MAX: i32 = 16;
/** A gateway that failed is tried this often until it answers, ms. */
const RETRY_MS: f64 = 250;
/** An answer that is out for longer than its time-out by this is not waited for, ms. */
const LOST_MS: f64 = 5000;

/** A gateway that failed so often in a row is left alone between tries. */
const FAILURES: i32 = 2;

/** One message that waits for its answer. */
export class Out {
  token: u32 = 0;
  member: i32 = 0;
  sentMs: f64 = 0;
  /** Where its bytes are kept (sentlog.ts), and how many there are. */
  kept: i64 = -1;
  length: i32 = 0;
  /** The message's number. */
  sequence: u32 = 0;
  /** Sent for the second time. */
  isRepeat: bool = false;
}

/** The gateways that are told, and how they answer this worker. */
export class Members {
  count: i32 = 0;
  private hashes: StaticArray<u64> = new StaticArray<u64>(MAX_PEERS);
  private addresses: Array<Text> = new Array<Text>();
  private waiting: StaticArray<i32> = new StaticArray<i32>(MAX_PEERS);
  private triedMs: StaticArray<f64> = new StaticArray<f64>(MAX_PEERS);
  private proved: StaticArray<u8> = new StaticArray<u8>(MAX_PEERS);
  /** Failures in a row. */
  private failures: StaticArray<i32> = new StaticArray<i32>(MAX_PEERS);
  /** Who answered last, and the number of the last update that it had sent by then; 0 for nobody. */
  private names: StaticArray<u64> = new StaticArray<u64>(MAX_PEERS);
  private saidSequence: StaticArray<u32> = new StaticArray<u32>(MAX_PEERS);
  private outs: Array<Out> = new Array<Out>();
  private free: Array<Out> = new Array<Out>();
  private seen: u32 = 0;
  /** Whether the configuration names them. */
  private isFixed: bool = false;

  /** @param hosts configured members; none: those that discovery found */
  constructor(
    hosts: Array<Text>,
    private list: MemberList,
  ) {
    for (let i = 0; i < hosts.length && i < MAX_PEERS; i++) this.add(hosts[i]);
    this.isFixed = hosts.length > 0;
  }

  /** Takes over what discovery found since: at ticks. */
  refresh(): void {
    if (this.isFixed || !this.list.refresh() || this.list.version == this.seen) return;
    this.seen = this.list.version;
    this.count = 0;
    this.addresses = new Array<Text>();
    this.outs = new Array<Out>();
    for (let i = 0; i < this.list.count; i++) {
      const bytes = new ArrayBuffer(this.list.addressLen(i));
      memory.copy(changetype<usize>(bytes), this.list.addressPtr(i), bytes.byteLength);
      this.add(new Text(bytes));
    }
  }

  private add(address: Text): void {
    const i = this.count++;
    this.addresses.push(address);
    this.hashes[i] = hashBytes(address.ptr, address.len);
    this.waiting[i] = 0;
    this.triedMs[i] = 0;
    this.failures[i] = 0;
    this.proved[i] = 0;
    this.names[i] = 0;
  }

  address(member: i32): Text {
    return this.addresses[member];
  }

  hash(member: i32): u64 {
    return unchecked(this.hashes[member]);
  }

  /** How many they are without this Envoy, which discovery names too. @param self hash of own address, 0 unknown */
  others(self: u64): i32 {
    let others = this.count;
    for (let i = 0; i < this.count; i++) if (self != 0 && this.hash(i) == self) others--;
    return others;
  }

  /** Whether a message to a gateway makes sense now. */
  mayTell(member: i32, nowMs: f64): bool {
    if (unchecked(this.waiting[member]) >= OUT_MAX) return false;
    const passedMs = nowMs - unchecked(this.triedMs[member]);
    return !this.isFailing(member) || passedMs >= RETRY_MS || passedMs < 0;
  }

  /** Whether a gateway has answered, and still does. */
  isProved(member: i32): bool {
    return unchecked(this.proved[member]) != 0 && !this.isFailing(member);
  }

  /** Whether a gateway is left alone between tries. */
  isFailing(member: i32): bool {
    return unchecked(this.failures[member]) >= FAILURES;
  }

  /** A message went out; null: Envoy refused it (token 0). */
  told(member: i32, token: u32, nowMs: f64): Out | null {
    unchecked((this.triedMs[member] = nowMs));
    if (token == 0) {
      this.judge(member, false);
      return null;
    }
    const out = this.free.length > 0 ? this.free.pop() : new Out();
    out.token = token;
    out.member = member;
    out.sentMs = nowMs;
    out.kept = -1;
    out.isRepeat = false;
    this.outs.push(out);
    unchecked(this.waiting[member]++);
    return out;
  }

  /** The message that this answer is to, null if it is to none of them; valid until the next is sent. */
  answered(token: u32): Out | null {
    for (let i = 0; i < this.outs.length; i++) {
      const out = unchecked(this.outs[i]);
      if (out.token != token) continue;
      this.drop(i);
      return out;
    }
    return null;
  }

  /** What the answer was like. */
  judge(member: i32, isGood: bool): void {
    if (member >= this.count) return;
    unchecked((this.failures[member] = isGood ? 0 : this.failures[member] + 1));
  }

  /** A gateway, and not this one itself, has taken a message. @param sequence number of the last that it had sent by then */
  prove(member: i32, gateway: u64, sequence: u32): void {
    if (member >= this.count) return;
    unchecked((this.proved[member] = 1));
    unchecked((this.names[member] = gateway));
    unchecked((this.saidSequence[member] = sequence));
  }

  /** Who a member is, by its last answer; 0 while it hasn't answered. */
  name(member: i32): u64 {
    return unchecked(this.names[member]);
  }

  /** Number of the last update that it had sent when it answered. */
  sequence(member: i32): u32 {
    return unchecked(this.saidSequence[member]);
  }

  /** Whether some gateway hasn't answered a message yet. */
  isOut(sequence: u32): bool {
    for (let i = 0; i < this.outs.length; i++) {
      if (unchecked(this.outs[i]).sequence == sequence) return true;
    }
    return false;
  }

  /** Forgets messages whose answers were lost: at ticks. */
  expire(nowMs: f64, timeoutMs: f64): void {
    for (let i = this.outs.length - 1; i >= 0; i--) {
      if (Math.abs(nowMs - this.outs[i].sentMs) < timeoutMs + LOST_MS) continue;
      this.judge(this.outs[i].member, false);
      this.drop(i);
    }
  }

  private drop(i: i32): void {
    const out = this.outs[i];
    const last = this.outs.pop();
    if (i < this.outs.length) this.outs[i] = last;
    if (out.member < this.count && this.waiting[out.member] > 0) this.waiting[out.member]--;
    this.free.push(out);
  }
}
