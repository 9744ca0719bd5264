import { type Policy, type PolicyContext, usableServers } from "../policy.ts";

/** Any server. */
export function random(context: PolicyContext): Policy {
  return {
    pollMs: 0,
    choose: () => context.random.pick(usableServers(context)),
  };
}
