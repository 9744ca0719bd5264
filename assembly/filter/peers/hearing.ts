import { logWarn } from "../../host/log";
import { setEffectiveContext } from "../../host/stream";
import { Fault, check, entriesOf, placementsOf } from "../../peers/check";
import { Head, Kind } from "../../peers/head";
import { Placement } from "../../peers/placement";
import { secretMark } from "../../peers/secret";
import { HEAD_BYTES, MAX_MESSAGE, PAGE_ENTRY } from "../../peers/wire";
import { MAX_HOSTS } from "../../state/layout";
import { RowView } from "../../state/rowview";
import { TableCopy } from "./tablecopy";
import { PeerTables } from "./peertables";
import { Core } from "../core";

/** Entries of a page: what a worker writes, and another takes over, in a millisecond or two. */
const PAGE_ENTRIES: i32 = 1024;

/** Takes other gateways' messages over into the tables that all workers share. */
export class Hearing {
  private buffer: StaticArray<u8> = new StaticArray<u8>(MAX_MESSAGE);
  answerBytes: i32 = 0;
  private secret: u16 = 0;
  private isSecretTold: bool = false;

  constructor(
    private core: Core,
    private copy: TableCopy,
    private peers: PeerTables,
  ) {
    this.secret = secretMark(core.config.affinity.hashSecret);
  }

  /** Address of the answer to the last message. */
  get answer(): usize {
    return changetype<usize>(this.buffer);
  }

  /** A message; after `None` there is an answer to it. */
  take(at: usize, size: i32, nowMs: f64): Fault {
    this.copy.serves = true;
    const core = this.core;
    const stats = core.stats;
    stats.peerReceived.add(1);
    stats.peerBytesReceived.add(<i64>size);
    const fault = this.judge(at, size, nowMs);
    if (fault != Fault.None) stats.peerDropped(fault);
    return fault;
  }

  /** After an answer to a message: what that told may have made room for what is held here. */
  answered(): void {
    const core = this.core;
    if (RowView.held(core.fleet.row.bytes) > 0 && setEffectiveContext(core.id)) core.ticker.wake();
  }

  private judge(at: usize, size: i32, nowMs: f64): Fault {
    const fault = check(at, size);
    if (fault != Fault.None) return fault;
    const kind = Head.kind(at);
    if (kind != Kind.Update && kind != Kind.Ask) return Fault.Garbled;
    const outbox = this.peers.outbox;
    if (!outbox.open()) return Fault.Crowded;
    const own = outbox.gateway;
    const isStrange = Head.secret(at) != this.secret;
    if (kind == Kind.Ask) {
      if (isStrange) return this.strange();
      this.writePage(Head.cursor(at), own, nowMs);
      return Fault.None;
    }
    // One of the members that discovery names is this gateway itself.
    if (Head.gateway(at) != own) {
      const taken = this.peers.heard.take(at, nowMs);
      if (taken != Fault.None) return taken;
      // What servers have to do is the same under any secret.
      if (!isStrange) this.takePlacements(at, nowMs);
      else this.core.stats.peerDropped(this.strange());
    }
    Head.write(this.answer, Kind.Taken, own);
    Head.setSentMs(this.answer, nowMs);
    Head.setSequence(this.answer, outbox.sequence);
    this.answerBytes = HEAD_BYTES;
    return Fault.None;
  }

  /** Says, once, that another gateway has another secret. */
  private strange(): Fault {
    if (!this.isSecretTold) {
      this.isSecretTold = true;
      logWarn(
        "warmroute: peers: another gateway has another affinity.hash_secret: its loads count, its locations can't; expected the same one at all gateways",
      );
    }
    return Fault.Hashes;
  }

  /** Answers with what is alive in the location table from a bucket on. */
  private writePage(cursor: u32, own: u64, nowMs: f64): void {
    const core = this.core;
    const hosts = core.fleet.hosts;
    const pages = this.peers.pages;
    const at = this.answer;
    Head.write(at, Kind.Page, own);
    Head.setSentMs(at, nowMs);
    Head.setHosts(at, hosts.count);
    for (let slot = 0; slot < hosts.count; slot++) {
      store<u64>(at + <usize>(HEAD_BYTES + slot * 8), hosts.hash(slot));
    }
    core.fleet.look(nowMs);
    core.decider.view.caches.setClocks();
    pages.write(entriesOf(at), PAGE_ENTRIES, cursor);
    Head.setCount(at, pages.count);
    Head.setCursor(at, pages.next);
    this.answerBytes = HEAD_BYTES + hosts.count * 8 + pages.count * PAGE_ENTRY;
  }

  /** Notes where others' requests went, as if they were own choices. */
  private takePlacements(at: usize, nowMs: f64): void {
    const count = Head.placements(at);
    if (count == 0) return;
    const core = this.core;
    const locations = core.fleet.locations;
    const slots = this.peers.heard.slots;
    core.fleet.peerLoads.refresh(nowMs);
    core.decider.view.caches.setClocks();
    let place = placementsOf(at);
    for (let i = 0; i < count; i++) {
      const position = Placement.host(place);
      const slot = position < MAX_HOSTS ? unchecked(slots[position]) : -1;
      const uncached = Placement.uncachedTokens(place);
      const cached = Placement.cachedTokens(place);
      // An answer that was stored is no request.
      if (uncached + cached > 0) core.decider.learnMeans(uncached, cached);
      if (slot >= 0) {
        const ids = Placement.ids(place);
        if (cached > 0 && ids > 0) {
          const stamp = locations.stampOf(Placement.id(place, 0), slot);
          if (!isNaN(stamp)) {
            core.decider.renewals.note(slot, stamp, unchecked(locations.clock[slot]), cached);
          }
        }
        for (let n = 0; n < ids; n++) {
          locations.learn(Placement.id(place, n), slot, n == 0 && Placement.isFork(place));
        }
        const length = Placement.chainLength(place);
        const conversation = Placement.conversation(place);
        const anyModel = Placement.anyModel(place);
        if (conversation != 0) locations.move(conversation, slot, length);
        if (anyModel != 0) locations.move(anyModel, slot, length);
      }
      place += <usize>Placement.size(place);
    }
    core.fleet.publishLocations(nowMs);
    core.fleet.row.publish(nowMs);
  }
}

const hearings = new Map<string, Hearing>();

/** Says who hears for a namespace in this VM: the filter that routes. */
export function setHearing(namespace: string, hearing: Hearing): void {
  hearings.set(namespace, hearing);
}

/** Takes that back, if it is still so. */
export function endHearing(namespace: string, hearing: Hearing): void {
  if (hearings.has(namespace) && hearings.get(namespace) == hearing) hearings.delete(namespace);
}

/** Who hears for a namespace, null for nobody. */
export function hearingOf(namespace: string): Hearing | null {
  return hearings.has(namespace) ? hearings.get(namespace) : null;
}
