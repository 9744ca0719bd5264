import { type Policy, type PolicyContext, usableServers } from "../policy.ts";

/** One after the other; each gateway starts anywhere. */
export function roundRobin(context: PolicyContext): Policy {
  let next = context.random.below(context.servers);
  return {
    pollMs: 0,
    choose: () => {
      const usable = usableServers(context);
      next += 1;
      return usable[next % usable.length] as number;
    },
  };
}
