import { RoutingMode } from "../../config/config";
import { HeaderMap, setHeader } from "../../host/headers";
import { nowMs } from "../../host/clock";
import { Core } from "../core";
import { Stream } from "../stream";
import { Intake } from "./intake";

/**
 * Requests about an answer that a server has stored: `GET /v1/responses/{id}`, to cancel or to delete it. They are no inference,
 * and wait for nothing; but no other server knows the answer.
 */
export class Stored {
  constructor(private core: Core) {}

  /** Sends such a request to the server that gave the answer, if that is known and can be used; others go where Envoy chooses. */
  route(stream: Stream, intake: Intake): void {
    const core = this.core;
    const idHash = intake.storedIdHash(core.config);
    if (idHash == 0) return;
    const fleet = core.fleet;
    const hosts = fleet.hosts;
    const now = nowMs();
    fleet.look(now);
    const slot = fleet.storedAnswers.find(intake.tenantHash, idHash);
    if (slot < 0 || hosts.isUnhealthy(slot) || !core.health.usable(slot, now)) return;
    const choice = stream.decision.choice;
    choice.slots[0] = slot;
    choice.count = 1;
    if (core.config.routing.mode != RoutingMode.Enforce) return;
    const header = core.config.routing.header;
    if (setHeader(HeaderMap.Request, header, hosts.addressPtr(slot), hosts.addressLen(slot)))
      return;
    core.stats.internalErrors.add(1);
    choice.count = 0;
  }
}
