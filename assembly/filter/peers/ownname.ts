import { mix } from "../../prefix/hash";
import { Outbox } from "../../state/outbox";

/** A name is given up at most this often, ms. */
const RENAME_MS: f64 = 1000;

/** Who this Envoy is among gateways, whichever of its workers speaks. */
export class OwnName {
  private renamedMs: f64 = 0;

  constructor(private outbox: Outbox) {}

  /** Draws a name, once for all workers; the outbox is open afterwards. */
  draw(nowMs: f64): void {
    const outbox = this.outbox;
    outbox.gateway = newName(nowMs);
    outbox.commit();
    outbox.open();
  }

  /** Draws another one. */
  giveUp(nowMs: f64): void {
    const outbox = this.outbox;
    if (nowMs - this.renamedMs < RENAME_MS) return;
    if (!outbox.open()) return;
    this.renamedMs = nowMs;
    outbox.gateway = newName(nowMs);
    outbox.commit();
  }

  /** One of the members is this Envoy itself. @param member hash of its address */
  isAt(member: u64): void {
    const outbox = this.outbox;
    if (!outbox.open()) return;
    outbox.self = member;
    // A collision is no matter: it answers again.
    outbox.commit();
  }
}

/** A gateway's name: drawn, so that no two are alike. */
function newName(nowMs: f64): u64 {
  return mix(<u64>(nowMs * 1000), reinterpret<u64>(Math.random()));
}
