import { logWarn } from "../../host/log";
import { Core } from "../core";

/**
 * Notices requests that bring the routing header along. It is removed, so here it does no harm; but nobody before this filter
 * strips it: on any way to the servers that doesn't lead through the filter, who sends it chooses the server. Or something that
 * ought to choose (an endpoint picker, this filter a second time) isn't heeded.
 */
export class Steered {
  private isTold: bool = false;

  constructor(private core: Core) {}

  /** A request's own routing header was removed. */
  removed(): void {
    const core = this.core;
    core.stats.headersRemoved.add(1);
    if (this.isTold) return;
    this.isTold = true;
    const header = core.config.routing.header.toString();
    logWarn(
      `warmroute: routing.header: a request came with a ${header} of its own, which was removed; expected none before this filter. ` +
        `If clients send it, strip it where they come in, and add request_headers_to_remove: [${header}] to every route that ` +
        `reaches the servers past this filter. If an endpoint picker, or this filter a second time, sets it, keep one of them.`,
    );
  }
}
