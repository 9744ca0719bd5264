import { BufferType, getBuffer } from "../../host/buffers";
import { logWarn } from "../../host/log";
import { outLen, outPtr } from "../../host/memory";
import { Fault, check } from "../../peers/check";
import { Head, Kind } from "../../peers/head";
import { Core } from "../core";
import { Out } from "./members";
import { OwnName } from "./ownname";
import { PeerCalls } from "./peercalls";
import { PeerTables } from "./peertables";
import { SentLog } from "./sentlog";

/** Brings messages to the other gateways: who has got one, who has not, and gets it once more. */
export class Delivery {
  private log: SentLog = new SentLog();
  private refusalTold: bool = false;

  constructor(
    private core: Core,
    private peers: PeerTables,
    private calls: PeerCalls,
    private name: OwnName,
  ) {}

  /** Sends a message to each gateway that may be told now. */
  tell(at: usize, length: i32, nowMs: f64): void {
    const members = this.calls.members;
    const self = this.peers.outbox.self;
    const kept = this.log.keep(at, length);
    for (let i = 0; i < members.count; i++) {
      if ((self != 0 && members.hash(i) == self) || !members.mayTell(i, nowMs)) continue;
      const out = this.send(i, at, length, nowMs);
      if (out) out.kept = kept;
    }
  }

  /**
   * The answer, or failure, of a call.
   * @param isOk it was taken
   * @param isKnown it had come before, if its answer did not: as good as taken
   * @returns false where the call brought no message
   */
  answered(token: u32, isOk: bool, isKnown: bool, bodySize: i32, nowMs: f64): bool {
    const out = this.calls.members.answered(token);
    if (!out) return false;
    const isTaken = isKnown || (isOk && this.readAnswer(out, bodySize, nowMs));
    this.calls.members.judge(out.member, isTaken);
    if (!isTaken) this.failed(out, nowMs);
    // Not even sent twice: somebody else speaks under this name.
    if (isKnown && !out.isRepeat) this.name.giveUp(nowMs);
    return true;
  }

  /** A message may be lost: sends it once more. Its own number and time tell what of it still counts. */
  private failed(out: Out, nowMs: f64): void {
    this.core.stats.peerFailures.add(1);
    const members = this.calls.members;
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
    const members = this.calls.members;
    if (out.member >= members.count) return true;
    if (gateway == this.peers.outbox.gateway) this.name.isAt(members.hash(out.member));
    else {
      members.prove(out.member, gateway, Head.sequence(at));
      this.peers.heard.measure(gateway, Head.sentMs(at), out.sentMs, nowMs);
    }
    return true;
  }

  private send(member: i32, ptr: usize, length: i32, nowMs: f64): Out | null {
    const stats = this.core.stats;
    const token = this.calls.call(member, ptr, length);
    const status = outLen;
    const out = this.calls.members.told(member, token, nowMs);
    if (out) {
      out.length = length;
      out.sequence = Head.sequence(ptr);
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
}
