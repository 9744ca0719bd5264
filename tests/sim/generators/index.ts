import type { Workload } from "../workload.ts";
import { codingAgents, toolAgents } from "./agents.ts";
import { hotPrefix, multiTenantChat } from "./chat.ts";
import type { GeneratorOptions, Loop } from "./conversation.ts";
import { heavyLight, retrieval } from "./mixed.ts";

interface Generator {
  make: (options: GeneratorOptions) => Workload;
  loop: Loop;
}

const GENERATORS: Readonly<Record<string, Generator>> = {
  "multi-tenant-chat": { make: multiTenantChat, loop: "open" },
  "coding-agents": { make: codingAgents, loop: "closed" },
  "tool-agents": { make: toolAgents, loop: "closed" },
  "hot-prefix": { make: hotPrefix, loop: "open" },
  "heavy-light": { make: heavyLight, loop: "open" },
  retrieval: { make: retrieval, loop: "open" },
};

export const GENERATOR_NAMES: readonly string[] = Object.keys(GENERATORS);

/**
 * Generates a workload by name, `NAME`, `NAME:open` or `NAME:closed`.
 * @throws RangeError for a name that isn't there.
 */
export function generate(name: string, options: { seed: number; requests: number }): Workload {
  const [base = "", loop] = name.split(":");
  const generator = GENERATORS[base.replaceAll("_", "-")];
  if (generator === undefined || !["open", "closed", undefined].includes(loop)) {
    throw new RangeError(`generated:${name}: expected one of ${GENERATOR_NAMES.join(", ")}`);
  }
  return generator.make({ ...options, loop: (loop as Loop | undefined) ?? generator.loop });
}
