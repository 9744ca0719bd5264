import { Fault, check, placementsOf } from "../peers/check";
import { HEAD_BYTES, Head, Kind, Placement } from "../peers/wire";
import { MAX_HOSTS } from "../state/layout";
import { Root } from "./root";

/** Takes other gateways' messages over into the tables that all workers share. */
export class Hearing {
  /** The answer to the last message. */
  readonly answer: usize = heap.alloc(HEAD_BYTES);
  answerBytes: i32 = 0;

  constructor(private root: Root) {}

  /** A message; after `None` there is an answer to it. */
  take(at: usize, size: i32, nowMs: f64): Fault {
    const root = this.root;
    const stats = root.stats;
    stats.peerReceived.add(1);
    stats.peerBytesReceived.add(<i64>size);
    const fault = this.judge(at, size, nowMs);
    if (fault != Fault.None) stats.peerDropped(fault);
    return fault;
  }

  private judge(at: usize, size: i32, nowMs: f64): Fault {
    const fault = check(at, size);
    if (fault != Fault.None) return fault;
    const kind = Head.kind(at);
    if (kind != Kind.Update) return Fault.Garbled;
    const fleet = this.root.fleet;
    if (!fleet.outbox.open()) return Fault.Crowded;
    const own = fleet.outbox.gateway;
    // One of the members that discovery names is this gateway itself.
    if (Head.gateway(at) != own) {
      const taken = fleet.peerTable.take(at, nowMs);
      if (taken != Fault.None) return taken;
      this.takePlacements(at, nowMs);
    }
    Head.write(this.answer, Kind.Taken, own);
    Head.setSentMs(this.answer, nowMs);
    this.answerBytes = HEAD_BYTES;
    return Fault.None;
  }

  /** Notes where others' requests went, as if they were own choices. */
  private takePlacements(at: usize, nowMs: f64): void {
    const count = Head.placements(at);
    if (count == 0) return;
    const root = this.root;
    const locations = root.fleet.locations;
    const slots = root.fleet.peerTable.slots;
    root.fleet.peerLoads.refresh(Head.sentMs(at));
    root.decider.view.setClocks();
    let place = placementsOf(at);
    for (let i = 0; i < count; i++) {
      const position = Placement.host(place);
      const slot = position < MAX_HOSTS ? unchecked(slots[position]) : -1;
      if (slot >= 0) {
        const ids = Placement.ids(place);
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
    root.fleet.publishLocations(nowMs);
    root.fleet.row.publish(nowMs);
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
