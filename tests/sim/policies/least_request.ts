import { InFlight, type Policy, type PolicyContext, usableServers } from "../policy.ts";

/** Envoy's: of two servers picked at random, the one with fewer of this gateway's requests. */
const CHOICES = 2;

export function leastRequest(context: PolicyContext): Policy {
  const inFlight = new InFlight(context.servers);
  return {
    pollMs: 0,
    choose: () => {
      const usable = usableServers(context);
      let best = context.random.pick(usable);
      for (let i = 1; i < CHOICES; i += 1) {
        const other = context.random.pick(usable);
        if (inFlight.of(other) < inFlight.of(best)) best = other;
      }
      inFlight.add(best, 1);
      return best;
    },
    onFinish: (_request, server) => inFlight.add(server, -1),
    onFailure: (_request, server) => inFlight.add(server, -1),
  };
}
