import { BufferType, getBuffer } from "../../host/buffers";
import { outLen, outPtr } from "../../host/memory";
import { Fault, check, entriesOf } from "../../peers/check";
import { Head, Kind } from "../../peers/head";
import { PageEntry } from "../../peers/page";
import { secretMark } from "../../peers/secret";
import { HEAD_BYTES, PAGE_ENTRY } from "../../peers/wire";
import { PeerCalls } from "./peercalls";
import { PeerTables } from "./peertables";
import { Core } from "../core";

/** So many failures, of any gateways, and the table is left to fill by itself. */
const FAILURES_MAX: i32 = 3;

const ask: usize = heap.alloc(HEAD_BYTES);

/** Asks another gateway for its location table, page after page, when this worker has started with an empty one. */
export class TableCopy {
  /** Whether there is still something to ask for. */
  private isWanted: bool = true;
  /** Whether this worker serves: that of the main thread doesn't, and needs no table. */
  serves: bool = false;
  /** Whether it is the first of its gateway's workers that does so. */
  private isFirst: bool = false;
  private token: u32 = 0;
  private member: i32 = -1;
  private cursor: u32 = 0;
  private failures: i32 = 0;

  constructor(
    private core: Core,
    private calls: PeerCalls,
    private peers: PeerTables,
  ) {
    this.isWanted = !core.fleet.locations.isUsed;
  }

  /** Begins to ask, once some gateway has answered. */
  tick(nowMs: f64): void {
    if (!this.isWanted || !this.serves || this.token != 0 || this.core.fleet.hosts.count == 0)
      return;
    const members = this.calls.members;
    for (let i = 1; i <= members.count; i++) {
      const member = (this.member + i) % members.count;
      if (!members.isProved(member)) continue;
      this.member = member;
      this.cursor = 0;
      this.enter();
      this.send(nowMs);
      return;
    }
  }

  /** The first worker of a gateway that asks counts what it gets as the gateway's. */
  private enter(): void {
    const outbox = this.peers.outbox;
    if (!outbox.open() || outbox.isCopied) return;
    outbox.isCopied = true;
    this.isFirst = outbox.commit();
  }

  /** Whether this answer is to one of the questions. `isGood`: it has status 200. */
  answered(token: u32, isGood: bool, size: i32, nowMs: f64): bool {
    if (token == 0 || token != this.token) return false;
    this.token = 0;
    if (!isGood || !this.read(size)) {
      this.failures++;
      if (this.failures >= FAILURES_MAX) this.isWanted = false;
    } else if (this.cursor == 0) {
      this.isWanted = false;
    } else {
      this.send(nowMs);
    }
    return true;
  }

  private send(nowMs: f64): void {
    Head.write(ask, Kind.Ask, this.peers.outbox.gateway);
    Head.setSentMs(ask, nowMs);
    Head.setSecret(ask, secretMark(this.core.config.affinity.hashSecret));
    Head.setCursor(ask, this.cursor);
    this.token = this.calls.call(this.member, ask, HEAD_BYTES);
    if (this.token == 0) this.isWanted = false;
  }

  /** Takes a page over. False: it can't be one, or doesn't go on. */
  private read(size: i32): bool {
    if (!getBuffer(BufferType.CallResponseBody, 0, size)) return false;
    const at = outPtr;
    if (check(at, outLen) != Fault.None || Head.kind(at) != Kind.Page) return false;
    const next = Head.cursor(at);
    if (next != 0 && next <= this.cursor) return false;
    const core = this.core;
    const pages = this.peers.pages;
    core.decider.view.caches.setClocks();
    let entry = entriesOf(at);
    const count = Head.count(at);
    for (let i: u32 = 0; i < count; i++) {
      const host = load<u64>(at + <usize>(HEAD_BYTES + PageEntry.host(entry) * 8));
      const slot = core.fleet.hosts.findHash(host);
      if (slot >= 0) pages.adopt(entry, slot, this.isFirst);
      entry += <usize>PAGE_ENTRY;
    }
    this.cursor = next;
    return true;
  }
}
