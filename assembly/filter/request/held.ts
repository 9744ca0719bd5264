import { text } from "../../bytes";
import { nowMs } from "../../host/clock";
import { logError } from "../../host/log";
import { SharedResult, getShared, setShared } from "../../host/shareddata";
import { continueRequest, setEffectiveContext } from "../../host/stream";
import { Core } from "../core";
import { Phase, Stream } from "../stream";

/** A held request without any body callback, or with a stalled body, is released after this, ms. */
const RELEASE_MS: f64 = 1000;
/** Streams watched at once for a missing body callback; enough to find one that is stuck. */
const WATCHED_MAX: i32 = 64;
/** Bodies up to this size fit any sensible buffer limit: if they stall, their client is slow. */
const STALL_BYTES: i32 = 4 * 1024;
/** Set in shared data by the first VM that got a body callback while it held headers. */
const PROOF = text("warmroute/body-callbacks-come");
const PROVEN: usize = memory.data<u8>([1]);

/**
 * Watches held requests, so that none hangs.
 *
 * An Envoy older than 1.35, or without `allow_on_headers_stop_iteration`, turns the pause at headers into one that also stops
 * body callbacks: the request would hang until it times out. So until the first body callback has come, held requests are
 * watched, and the first that is stuck for a second shows that from now on only headers can be read.
 *
 * An Envoy whose buffer limit lies below `inspect_limit_bytes` stops reading from the client at that limit while the filter
 * waits for more. So large bodies that make no progress for a second are decided from what has come.
 */
export class Held {
  /** Whether headers are held at all. */
  canHold: bool = true;
  /** A body callback came while headers were held: nothing is released for want of one any more. */
  private proven: bool = false;
  private unproven: Array<Stream> = new Array<Stream>();
  private large: Array<Stream> = new Array<Stream>();

  constructor(private core: Core) {}

  /** A stream's headers are held from now. */
  add(stream: Stream): void {
    if (this.proven) return;
    stream.heldMs = nowMs();
    if (this.unproven.length < WATCHED_MAX) this.unproven.push(stream);
  }

  /** A held stream got a body callback. */
  prove(): void {
    if (this.proven) return;
    this.proven = true;
    this.unproven = new Array<Stream>();
    setShared(PROOF, PROVEN, 1, 0);
  }

  /** A held stream has read `seen` bytes and waits for more. */
  progress(stream: Stream, seen: i32): void {
    if (seen < STALL_BYTES) return;
    stream.heldMs = nowMs();
    if (!stream.watched) {
      stream.watched = true;
      this.large.push(stream);
    }
  }

  /** A stream is no longer held. */
  remove(stream: Stream): void {
    if (stream.watched) drop(this.large, stream);
    stream.watched = false;
    if (this.unproven.length > 0) drop(this.unproven, stream);
  }

  /** Releases what is stuck. */
  tick(now: f64): void {
    for (let i = this.large.length - 1; i >= 0; i--) {
      const stream = this.large[i];
      if (now - stream.heldMs >= RELEASE_MS) this.release(stream, true);
    }
    if (this.unproven.length == 0 || now - this.unproven[0].heldMs < RELEASE_MS) return;
    if (getShared(PROOF) == SharedResult.Ok) {
      // Another worker holds headers well: here a client is just slow.
      this.prove();
      return;
    }
    this.canHold = false;
    logError(
      "warmroute: this Envoy does not deliver bodies while headers are held: set allow_on_headers_stop_iteration: true in the " +
        "filter's plugin configuration (Envoy 1.35 or newer). Until then requests are routed by their headers alone.",
    );
    while (this.unproven.length > 0) this.release(this.unproven[0], false);
  }

  private release(stream: Stream, read: bool): void {
    this.remove(stream);
    if (!setEffectiveContext(stream.id)) return;
    if (read) stream.releaseStalled();
    else {
      this.core.stats.headersNotHeld.add(1);
      stream.releaseUnread();
    }
    if (stream.phase == Phase.Sent) continueRequest();
    setEffectiveContext(this.core.id);
  }
}

function drop(list: Array<Stream>, stream: Stream): void {
  const at = list.indexOf(stream);
  if (at < 0) return;
  list[at] = list[list.length - 1];
  list.pop();
}
