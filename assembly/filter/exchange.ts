import { equalsText, text } from "../bytes";
import { BufferType, getBuffer } from "../host/buffers";
import { HeaderList, httpCall } from "../host/calls";
import { HeaderMap, getHeader } from "../host/headers";
import { logWarn } from "../host/log";
import { outLen, outPtr } from "../host/memory";
import { setEffectiveContext } from "../host/stream";
import { Fault, check, heldOf, rowsOf } from "../peers/check";
import { Learned } from "../peers/learned";
import { missingShare } from "../peers/merge";
import { Head, Kind } from "../peers/head";
import { Placement } from "../peers/placement";
import { Row } from "../peers/row";
import { MAX_IDS, MAX_MESSAGE, PLACEMENT_HEAD, ROW_BYTES } from "../peers/wire";
import { mix } from "../prefix/hash";
import { MAX_ENTRIES } from "../prefix/chain";
import { HostRecord } from "../state/hostrecord";
import { CAS_ATTEMPTS, MAX_HOSTS } from "../state/layout";
import { ancestorOf, isRecorded } from "../state/locations";
import { noteCasGaveUp } from "../state/record";
import { Decision } from "./decision";
import { tellHeld } from "./heldnews";
import { Members, Out } from "./members";
import { Root } from "./root";
import { PeerTables } from "./peertables";
import { SentLog } from "./sentlog";
import { TableCopy } from "./tablecopy";
import { TICK_MS, Wish } from "./ticker";

const METHOD = text(":method");
const POST = text("POST");
const PATH = text(":path");
const AUTHORITY = text(":authority");
const STATUS = text(":status");
const OK = text("200");
const CONFLICT = text("409");
const CONTENT_TYPE = text("content-type");
const BYTES = text("application/octet-stream");

/** Something is said at least this often, so that silence means absence well before peers/merge.ts' UNHEARD_MS. */
const ALIVE_MS: f64 = 250;

/** While requests are held, what the next of them is like is said this often, ms: well within what a turn waits for. */
const HELD_MS: f64 = 10;

/** A name is given up at most this often, ms. */
const RENAME_MS: f64 = 1000;

/** A prompt with so much to compute is told whatever the gap: it keeps a server busy for many gaps, and so bounds itself. */
const AT_ONCE_TOKENS: f64 = 4096;

/** Most bytes of one placement. */
const PLACEMENT_BYTES: i32 = PLACEMENT_HEAD + MAX_ENTRIES * 8;

/**
 * Tells other gateways what this one does: at once when a request with much to compute is placed, at most once in
 * `peers.gap_ms`; else with the next message, at latest after ALIVE_MS. Any worker may send: the outbox makes it one voice.
 */
export class Exchange {
  readonly members: Members;
  private buffer: StaticArray<u8> = new StaticArray<u8>(MAX_MESSAGE + PLACEMENT_BYTES);
  /** Addresses of the message that is being written, and of the placement that goes into it. */
  private message: usize = 0;
  private placement: usize = 0;
  private headers: HeaderList = new HeaderList(8, 2048);
  /** By slot: position of the host in the message that is being written, −1 for none. */
  private positions: StaticArray<i32> = new StaticArray<i32>(MAX_HOSTS);
  /** A placement of this worker's waits for the gap to pass. */
  private isWaiting: bool = false;
  /** Placements so far: chooses ancestors. */
  private told: u64 = 0;
  private renamedMs: f64 = 0;
  private log: SentLog = new SentLog();
  /** Share of the other gateways that isn't heard, 0..1. */
  missing: f64 = 0;
  private copy!: TableCopy;
  private refusalTold: bool = false;

  constructor(
    private root: Root,
    private peers: PeerTables,
  ) {
    this.members = new Members(root.config.peers.hosts, peers.members);
    this.copy = new TableCopy(root, this, peers);
    this.message = changetype<usize>(this.buffer);
    this.placement = this.message + MAX_MESSAGE;
  }

  /** A request, or another gateway's message, came to this worker. */
  serve(): void {
    this.copy.serves = true;
  }

  /** Gateways besides this one. */
  get others(): i32 {
    return this.members.others(this.peers.outbox.self);
  }

  /**
   * A request was sent to a host.
   * @param known deepest boundary that the host was known to have, −1 for none
   * @param context the stream's id, which host calls act on
   */
  placed(d: Decision, slot: i32, known: i32, context: u32, nowMs: f64): void {
    if (this.members.count == 0) return;
    const size = this.describe(d, slot, known);
    const peers = this.root.config.peers;
    const uncached = d.promptTokens - d.cachedTokens;
    const isUrgent = uncached >= <f64>peers.pushTokens;
    const outbox = this.peers.outbox;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      if (!outbox.open()) return;
      const isRoom = size == 0 || outbox.append(this.placement, size);
      const isFree = uncached >= AT_ONCE_TOKENS || this.gapMs(nowMs) <= 0;
      if (!isRoom || (isUrgent && isFree)) {
        const length = this.write(nowMs);
        if (!isRoom) outbox.append(this.placement, size);
        if (!outbox.commit()) continue;
        setEffectiveContext(this.root.id);
        this.tell(length, nowMs);
        setEffectiveContext(context);
        return;
      }
      if (size > 0 && !outbox.commit()) continue;
      if (isUrgent) this.wait(this.gapMs(nowMs));
      return;
    }
    noteCasGaveUp();
  }

  /** A request that was told of at once has its first token, which is told as soon. @param workMs as it was counted */
  progressed(uncachedTokens: f64, context: u32, nowMs: f64): void {
    if (this.members.count == 0) return;
    const peers = this.root.config.peers;
    if (uncachedTokens < <f64>peers.pushTokens) return;
    const outbox = this.peers.outbox;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      if (!outbox.open()) return;
      const leftMs = this.gapMs(nowMs);
      if (leftMs > 0) {
        this.wait(leftMs);
        return;
      }
      const length = this.write(nowMs);
      if (!outbox.commit()) continue;
      setEffectiveContext(this.root.id);
      this.tell(length, nowMs);
      setEffectiveContext(context);
      return;
    }
    noteCasGaveUp();
  }

  /** Requests are held: said with the next message, within HELD_MS. */
  held(nowMs: f64): void {
    const outbox = this.peers.outbox;
    if (this.members.count == 0 || this.isWaiting || !outbox.open()) return;
    const sinceMs = nowMs - outbox.pushedMs;
    this.wait(sinceMs < 0 ? 1 : Math.max(HELD_MS - sinceMs, this.gapMs(nowMs)));
  }

  /** Time has passed: what waited may go. */
  tick(nowMs: f64): void {
    if (!this.isWaiting) return;
    const outbox = this.peers.outbox;
    if (!outbox.open()) {
      this.rest();
      return;
    }
    const leftMs = this.gapMs(nowMs);
    if (leftMs > 0) this.wait(leftMs);
    else if (this.push(nowMs)) this.rest();
  }

  /** The slow tick: says that this gateway is here, and looks who else is. */
  slowTick(nowMs: f64): void {
    const outbox = this.peers.outbox;
    const members = this.members;
    members.refresh();
    members.expire(nowMs, <f64>this.root.config.peers.timeoutMs);
    if (!outbox.open()) this.enter(nowMs);
    this.copy.tick(nowMs);
    const silentMs = nowMs - outbox.pushedMs;
    if (members.count > 0 && (silentMs >= ALIVE_MS || silentMs < 0)) this.push(nowMs);
    const heard = this.root.fleet.peerLoads.believed;
    this.root.fleet.peerLoads.takeTurns(outbox.gateway);
    const others = this.others;
    const missing = missingShare(others, heard);
    this.missing = others > 0 ? missing : 0;
    this.root.decider.setMissing(missing);
  }

  /** The answer, or failure, of a call; false where it wasn't one of these. */
  answered(token: u32, headerCount: i32, bodySize: i32, nowMs: f64): bool {
    const isRead = headerCount > 0 && getHeader(HeaderMap.CallResponse, STATUS);
    const isOk = isRead && equalsText(outPtr, outLen, OK);
    // It came before, if its answer did not: as good as taken.
    const isKnown = isRead && equalsText(outPtr, outLen, CONFLICT);
    if (this.copy.answered(token, isOk, bodySize, nowMs)) return true;
    const out = this.members.answered(token);
    if (!out) return false;
    const isTaken = isKnown || (isOk && this.readAnswer(out, bodySize, nowMs));
    this.members.judge(out.member, isTaken);
    if (!isTaken) this.failed(out, nowMs);
    // Not even sent twice: somebody else speaks under this name.
    if (isKnown && !out.isRepeat) this.rename(nowMs);
    return true;
  }

  /** Draws another name. */
  private rename(nowMs: f64): void {
    const outbox = this.peers.outbox;
    if (nowMs - this.renamedMs < RENAME_MS && nowMs >= this.renamedMs) return;
    if (!outbox.open()) return;
    this.renamedMs = nowMs;
    outbox.gateway = newName(nowMs);
    outbox.commit();
  }

  /** A message may be lost: sends it once more. Its own number and time tell what of it still counts. */
  private failed(out: Out, nowMs: f64): void {
    this.root.stats.peerFailures.add(1);
    const members = this.members;
    if (out.isRepeat || out.member >= members.count || members.isFailing(out.member)) return;
    const at = this.log.find(out.kept);
    if (at == 0) return;
    const kept = out.kept;
    const again = this.send(out.member, at, out.length, nowMs);
    if (!again) return;
    again.kept = kept;
    again.isRepeat = true;
  }

  private readAnswer(out: Out, size: i32, nowMs: f64): bool {
    if (!getBuffer(BufferType.CallResponseBody, 0, size)) return false;
    const at = outPtr;
    if (check(at, outLen) != Fault.None || Head.kind(at) != Kind.Taken) return false;
    const gateway = Head.gateway(at);
    if (gateway == this.peers.outbox.gateway) this.noteSelf(out.member);
    else {
      this.members.prove(out.member);
      this.peers.heard.measure(gateway, Head.sentMs(at), out.sentMs, nowMs);
    }
    return true;
  }

  /** One of the members is this Envoy itself. */
  private noteSelf(member: i32): void {
    const outbox = this.peers.outbox;
    if (member >= this.members.count || !outbox.open()) return;
    outbox.self = this.members.hash(member);
    // A collision is no matter: it answers again.
    outbox.commit();
  }

  /** Draws this Envoy's name, once for all workers. */
  private enter(nowMs: f64): void {
    const outbox = this.peers.outbox;
    const name = newName(nowMs);
    outbox.gateway = name;
    outbox.commit();
    outbox.open();
  }

  /** Ms that a message must still wait for; of a clock that was set back nothing is waited for. */
  private gapMs(nowMs: f64): f64 {
    const passedMs = nowMs - this.peers.outbox.pushedMs;
    return passedMs < 0 ? 0 : <f64>this.root.config.peers.gapMs - passedMs;
  }

  private wait(ms: f64): void {
    this.isWaiting = true;
    const periodMs = <u32>Math.ceil(Math.max(ms, 1));
    this.root.ticker.want(Wish.Exchange, min(periodMs, TICK_MS));
  }

  private rest(): void {
    this.isWaiting = false;
    this.root.ticker.want(Wish.Exchange, TICK_MS);
  }

  /** Sends what is new, unless another worker just did. */
  private push(nowMs: f64): bool {
    const length = this.write(nowMs);
    if (!this.peers.outbox.commit()) return false;
    this.tell(length, nowMs);
    return true;
  }

  /** Writes what the opened outbox doesn't yet say, and takes it out of it; returns the message's length. */
  private write(nowMs: f64): i32 {
    const fleet = this.root.fleet;
    const outbox = this.peers.outbox;
    const hosts = fleet.hosts;
    const inFlight = fleet.inFlight;
    const positions = this.positions;
    const sinceFullMs = nowMs - outbox.fullMs;
    const isFull = sinceFullMs >= <f64>this.root.config.peers.fullMs || sinceFullMs < 0;
    outbox.grow(hosts.count);
    for (let slot = 0; slot < hosts.count; slot++) unchecked((positions[slot] = -1));
    let place = outbox.pending;
    const placements = outbox.placements;
    for (let i = 0; i < placements; i++) {
      if (hosts.isKnown(Placement.host(place))) positions[Placement.host(place)] = 0;
      place += <usize>Placement.size(place);
    }
    const message = this.message;
    let count = 0;
    tellHeld(heldOf(message), fleet, nowMs);
    let at = rowsOf(message);
    for (let slot = 0; slot < hosts.count; slot++) {
      const host = hosts.hash(slot);
      if (host == 0) continue;
      const waiting = inFlight.waiting(slot);
      const decoding = inFlight.decoding(slot);
      const workMs = inFlight.workMs(slot);
      const newestMs = inFlight.newestMs(slot);
      const clock = inFlight.ownClockTokens(slot);
      const isNews = outbox.differs(slot, host, waiting, decoding, workMs, newestMs, clock);
      if (!isNews && !isFull && unchecked(positions[slot]) < 0) continue;
      const context = inFlight.contextTokens(slot);
      const streams = inFlight.streams(slot);
      Row.write(at, host, waiting, streams, decoding, workMs, context, nowMs - newestMs, clock);
      this.tellSpeeds(Row.learned(at), slot);
      outbox.note(slot, host, waiting, decoding, workMs, newestMs, clock);
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
    Head.setFull(message, isFull);
    Head.setHosts(message, count);
    Head.setPlacements(message, told);
    Head.setSequence(message, outbox.sequence);
    Head.setSentMs(message, nowMs);
    return <i32>(at - message);
  }

  /** Says how fast a host was found to be, by own answers alone: what others said is theirs to say. */
  private tellSpeeds(learned: usize, slot: i32): void {
    const at = this.root.fleet.states.at(slot);
    const prefill = HostRecord.prefillFactor(at);
    const decode = HostRecord.decodeFactor(at);
    const prefillSamples = HostRecord.prefillSamples(at);
    Learned.write(learned, prefill, prefillSamples, decode, HostRecord.decodeSamples(at));
  }

  /** Sends the message to each gateway that may be told now. */
  private tell(length: i32, nowMs: f64): void {
    const members = this.members;
    const self = this.peers.outbox.self;
    const kept = this.log.keep(this.message, length);
    for (let i = 0; i < members.count; i++) {
      if ((self != 0 && members.hash(i) == self) || !members.mayTell(i, nowMs)) continue;
      const out = this.send(i, this.message, length, nowMs);
      if (out) out.kept = kept;
    }
  }

  /** A call to a gateway; returns its token, 0 where Envoy refused it. */
  call(member: i32, ptr: usize, length: i32): u32 {
    const config = this.root.config;
    const headers = this.headers;
    const address = this.members.address(member);
    headers.reset();
    headers.addText(METHOD, POST);
    headers.addText(PATH, config.peers.path);
    headers.addText(AUTHORITY, address);
    headers.addText(config.routing.header, address);
    headers.addText(CONTENT_TYPE, BYTES);
    return httpCall(config.peers.cluster, headers, ptr, length, config.peers.timeoutMs);
  }

  private send(member: i32, ptr: usize, length: i32, nowMs: f64): Out | null {
    const stats = this.root.stats;
    const token = this.call(member, ptr, length);
    const status = outLen;
    const out = this.members.told(member, token, nowMs);
    if (out) {
      out.length = length;
      stats.peerSent.add(1);
      stats.peerBytesSent.add(<i64>length);
      return out;
    }
    stats.peerFailures.add(1);
    if (this.refusalTold) return null;
    this.refusalTold = true;
    logWarn(
      `warmroute: peers.cluster: Envoy refused the call (status ${status}); expected the name of a cluster in its configuration`,
    );
    return null;
  }

  /** Writes a placement with its host's slot; returns its length, 0 for one of which nothing is known but its size. */
  private describe(d: Decision, slot: i32, known: i32): i32 {
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
    const isFork = d.isNew && this.root.fleet.locations.isFork(known, length);
    Placement.write(
      placement,
      slot,
      count,
      isFork,
      length,
      d.conversationTag,
      d.anyModelTag,
      known >= 0 ? d.cachedTokens : 0,
    );
    return Placement.size(placement);
  }
}

/** A gateway's name: drawn, so that no two are alike. */
function newName(nowMs: f64): u64 {
  return mix(<u64>(nowMs * 1000), reinterpret<u64>(Math.random()));
}
