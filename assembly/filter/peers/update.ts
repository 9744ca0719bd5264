import { heldOf, rowsOf } from "../../peers/check";
import { Head, Kind } from "../../peers/head";
import { Learned } from "../../peers/learned";
import { Placement } from "../../peers/placement";
import { Row } from "../../peers/row";
import { secretMark } from "../../peers/secret";
import { MAX_IDS, MAX_MESSAGE, PLACEMENT_HEAD, ROW_BYTES } from "../../peers/wire";
import { mix } from "../../prefix/hash";
import { MAX_ENTRIES } from "../../prefix/chain";
import { MAX_HOSTS } from "../../state/layout";
import { ancestorOf, isRecorded } from "../../state/locations";
import { Decision } from "../choice/decision";
import { tellHeld } from "./heldnews";
import { PeerTables } from "./peertables";
import { Core } from "../core";

/** Most bytes of one placement. */
const PLACEMENT_BYTES: i32 = PLACEMENT_HEAD + MAX_ENTRIES * 8;

/** Writes what this gateway tells the others: an update of rows and placements (peers/wire.ts). */
export class UpdateWriter {
  private buffer: StaticArray<u8> = new StaticArray<u8>(MAX_MESSAGE + PLACEMENT_BYTES);
  /** Addresses of the message that is being written, and of the placement that goes into it. */
  readonly at: usize;
  readonly placement: usize;
  /** By slot: position of the host in the message that is being written, −1 for none. */
  private positions: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  /** Placements so far: chooses ancestors. */
  private told: u64 = 0;
  private secret: u16 = 0;

  constructor(
    private core: Core,
    private peers: PeerTables,
  ) {
    this.at = changetype<usize>(this.buffer);
    this.placement = this.at + MAX_MESSAGE;
    this.secret = secretMark(core.config.affinity.hashSecret);
  }

  /** Writes what the opened outbox doesn't yet say, and takes it out of it; returns the message's length. */
  write(nowMs: f64): i32 {
    const fleet = this.core.fleet;
    const outbox = this.peers.outbox;
    const hosts = fleet.hosts;
    const inFlight = fleet.inFlight;
    const positions = this.positions;
    // What another worker has in flight by now: said from an older view, it would take back what that worker just told.
    inFlight.refreshAll(nowMs);
    const sinceFullMs = nowMs - outbox.fullMs;
    const isFull = sinceFullMs >= <f64>this.core.config.peers.fullMs || sinceFullMs < 0;
    outbox.grow(hosts.count);
    for (let slot = 0; slot < hosts.count; slot++) unchecked((positions[slot] = -1));
    let place = outbox.pending;
    const placements = outbox.placements;
    for (let i = 0; i < placements; i++) {
      if (hosts.isKnown(Placement.host(place))) positions[Placement.host(place)] = 0;
      place += <usize>Placement.size(place);
    }
    const message = this.at;
    let count = 0;
    tellHeld(heldOf(message), fleet, nowMs);
    let at = rowsOf(message);
    for (let slot = 0; slot < hosts.count; slot++) {
      const host = hosts.hash(slot);
      if (host == 0) continue;
      const isNews = outbox.differs(slot, host, inFlight);
      if (!isNews && !isFull && unchecked(positions[slot]) < 0) continue;
      this.writeRow(at, slot, nowMs);
      outbox.note(slot, host, inFlight);
      unchecked((positions[slot] = count++));
      at += <usize>ROW_BYTES;
    }
    let told = 0;
    place = outbox.pending;
    for (let i = 0; i < placements; i++) {
      const size = Placement.size(place);
      const position = hosts.isKnown(Placement.host(place)) ? positions[Placement.host(place)] : -1;
      if (position >= 0) {
        memory.copy(at, place, size);
        Placement.setHost(at, position);
        at += <usize>size;
        told++;
      }
      place += <usize>size;
    }
    outbox.clear();
    outbox.sequence = outbox.sequence + 1;
    outbox.pushedMs = nowMs;
    if (isFull) outbox.fullMs = nowMs;
    Head.write(message, Kind.Update, outbox.gateway);
    Head.setSecret(message, this.secret);
    Head.setFull(message, isFull);
    Head.setHosts(message, count);
    Head.setPlacements(message, told);
    Head.setSequence(message, outbox.sequence);
    Head.setSentMs(message, nowMs);
    Head.setProposals(message, inFlight.proposed(), inFlight.settled());
    return <i32>(at - message);
  }

  /** Writes what is in flight at a host. */
  private writeRow(at: usize, slot: i32, nowMs: f64): void {
    const inFlight = this.core.fleet.inFlight;
    Row.begin(at, this.core.fleet.hosts.hash(slot));
    Row.setCounts(at, inFlight.waiting(slot), inFlight.streams(slot), inFlight.decoding(slot));
    const newestAgeMs = nowMs - inFlight.newestMs(slot);
    Row.setLoad(at, inFlight.workMs(slot), inFlight.contextTokens(slot), newestAgeMs);
    Row.setClockTokens(at, inFlight.ownClockTokens(slot));
    this.tellSpeeds(Row.learned(at), slot);
  }

  /**
   * Says how fast a host was found to be, by own answers alone: what others said is theirs to say. A factor that no whole answer
   * confirmed yet comes from a first token, and counts as one.
   */
  private tellSpeeds(learned: usize, slot: i32): void {
    const record = this.core.fleet.states.at(slot);
    const prefill = record.prefillFactor;
    const decode = record.decodeFactor;
    const prefillSamples = max(record.prefillSamples, 1);
    Learned.write(learned, prefill, prefillSamples, decode, record.decodeSamples);
  }

  /** Writes where an answer is stored, as a conversation without a prompt; returns its length. */
  describeAnswer(tag: u64, slot: i32): i32 {
    Placement.begin(this.placement, slot, 0, 0);
    Placement.setTags(this.placement, tag, 0);
    return Placement.size(this.placement);
  }

  /** Writes a placement with its host's slot; returns its length, 0 for one of which nothing is known but its size. */
  describe(d: Decision, slot: i32, known: i32): i32 {
    if (!d.readable) return 0;
    const length = d.chainLength;
    const placement = this.placement;
    let count = 0;
    if (known >= 0 && known < length)
      Placement.setId(placement, count++, unchecked(d.chain[known]));
    for (let i = known + 1; i < length; i++) {
      if (isRecorded(d.chain, i, length)) {
        Placement.setId(placement, count++, unchecked(d.chain[i]));
      }
    }
    // Ancestors are used as well, wherever the request went through.
    if (known > 0 && count + 2 <= MAX_IDS) {
      this.told++;
      const random = <u32>(mix(d.key, this.told) >>> 32);
      Placement.setId(placement, count++, unchecked(d.chain[0]));
      const ancestor = ancestorOf(d.chain, known, random);
      if (ancestor > 0) Placement.setId(placement, count++, unchecked(d.chain[ancestor]));
    }
    Placement.begin(placement, slot, count, length);
    if (d.isNew && this.core.fleet.locations.isFork(known, length)) Placement.setFork(placement);
    const cached = known >= 0 ? d.cachedTokens : 0;
    Placement.setTokens(placement, cached, d.promptTokens - d.cachedTokens);
    Placement.setTags(placement, d.conversationTag, d.anyModelTag);
    return Placement.size(placement);
  }
}
