import { Core } from "../core";
import { Peering } from "../peers/peering";
import { Stream } from "../stream";

/** Which conversation and server an answer's id stands for. */
export class Naming {
  constructor(
    private core: Core,
    private peering: Peering,
  ) {}

  /** Notes that of an answer of the Responses API, once, as soon as its id has come: streams are resumed by it. */
  note(stream: Stream): void {
    const d = stream.decision;
    const served = stream.served;
    const usage = stream.usage;
    if (!usage || usage.idHash == 0 || served.isNamed || served.slot < 0) return;
    served.isNamed = true;
    const tag = this.core.fleet.storedAnswers.note(d.tenantHash, usage.idHash, d.key, served.slot);
    this.peering.stored(tag, served.slot);
  }
}
