import { text } from "../bytes";
import { continueRequest, setEffectiveContext } from "../host/stream";
import { logError } from "../host/log";
import { SharedResult, getShared, setShared } from "../host/shareddata";
import { Root } from "./root";
import { Stream } from "./stream";

/** A held request without any body callback is released after this, ms. */
const RELEASE_MS: f64 = 1000;
/** Held streams that are watched; more than enough to find one that is stuck. */
const WATCHED_MAX: i32 = 64;
/** Set in shared data by the first VM that got a body callback while it held headers. */
const PROOF = text("warmroute/body-callbacks-come");

/**
 * Finds out whether this Envoy can hold headers while a body is read. One older than 1.35, or without
 * `allow_on_headers_stop_iteration`, turns the pause into one that also stops body callbacks: the request would hang until it
 * times out. So until the first body callback has come, held requests are watched, and the first that is stuck for a second
 * shows that from now on only headers can be read.
 */
export class Held {
  /** Whether headers are held at all. */
  canHold: bool = true;
  /** A body callback came while headers were held: nothing is ever released any more. */
  private proven: bool = false;
  private watched: Array<Stream> = new Array<Stream>();

  constructor(private root: Root) {}

  /** A stream's headers are held from now. */
  add(stream: Stream): void {
    if (!this.proven && this.watched.length < WATCHED_MAX) this.watched.push(stream);
  }

  /** A held stream got a body callback. */
  prove(): void {
    if (this.proven) return;
    this.proven = true;
    this.watched = new Array<Stream>();
    const one = memory.data<u8>([1]);
    setShared(PROOF, one, 1, 0);
  }

  /** A stream is no longer held. */
  remove(stream: Stream): void {
    const at = this.watched.indexOf(stream);
    if (at >= 0) this.watched.splice(at, 1);
  }

  /** Releases what is stuck. */
  tick(now: f64): void {
    if (this.proven || this.watched.length == 0) return;
    if (now - this.watched[0].heldMs < RELEASE_MS) return;
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
    const stuck = this.watched;
    this.watched = new Array<Stream>();
    for (let i = 0; i < stuck.length; i++) {
      if (!setEffectiveContext(stuck[i].id)) continue;
      stuck[i].releaseUnread();
      continueRequest();
    }
    setEffectiveContext(this.root.id);
  }
}
