import type { Policy, PolicyContext } from "../policy.ts";
import { Ring } from "./ring.ts";

/** Envoy's smallest ring. */
const MIN_RING_SIZE = 1024;

/** Envoy's ring hash on the client's session header. No look at load. */
export function ringHash(context: PolicyContext): Policy {
  const ring = new Ring(context.servers, Math.ceil(MIN_RING_SIZE / context.servers));
  return {
    pollMs: 0,
    choose: (request) => {
      let first = -1;
      for (const server of ring.walk(request.session)) {
        if (first < 0) first = server;
        if (context.usable(server)) return server;
      }
      return first;
    },
  };
}
