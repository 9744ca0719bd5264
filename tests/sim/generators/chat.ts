import { Random, Zipf } from "../random.ts";
import { type Workload, WorkloadBuilder } from "../workload.ts";
import { Conversation, type GeneratorOptions, newStart, poissonStarts } from "./conversation.ts";

const TENANTS = 150;

/**
 * Multi-tenant chat: few tenants send most (Zipf), all of a tenant's conversations share its system
 * prompt, turns come after think times.
 */
export function multiTenantChat(options: GeneratorOptions): Workload {
  const random = new Random(options.seed, "multi-tenant-chat");
  const builder = new WorkloadBuilder();
  const zipf = new Zipf(TENANTS, 1.1);
  const tenants = Array.from({ length: TENANTS }, () =>
    newStart(builder, [["system", Math.min(12_000, random.lognormal(4500, 0.5))]]),
  );
  const nextStart = poissonStarts(random, 5);
  for (let session = 0; builder.requests.length < options.requests; session += 1) {
    const tenant = zipf.pick(random);
    const start = tenants[tenant] as (typeof tenants)[number];
    const names = { session: `s${session}`, tenant: `t${tenant}`, loop: options.loop };
    const conversation = new Conversation(builder, start, names);
    let waitMs = nextStart();
    const turns = random.geometric(5);
    for (let turn = 0; turn < turns; turn += 1) {
      conversation.say("user", Math.min(16_000, random.lognormal(400, 1.3)));
      conversation.ask(waitMs, Math.min(1500, random.lognormal(180, 0.7)));
      waitMs = Math.min(300_000, random.lognormal(15_000, 0.9));
    }
  }
  return builder.done("multi-tenant-chat");
}

/** One hot prefix: a long system prompt that four of five conversations share. */
export function hotPrefix(options: GeneratorOptions): Workload {
  const random = new Random(options.seed, "hot-prefix");
  const builder = new WorkloadBuilder();
  const hot = newStart(builder, [["system", 12_000]]);
  const nextStart = poissonStarts(random, 10);
  for (let session = 0; builder.requests.length < options.requests; session += 1) {
    const shared = random.next() < 0.8;
    const start = shared ? hot : newStart(builder, [["system", random.lognormal(800, 0.6)]]);
    const names = { session: `s${session}`, tenant: shared ? "hot" : "rest", loop: options.loop };
    const conversation = new Conversation(builder, start, names);
    let waitMs = nextStart();
    const turns = random.geometric(2);
    for (let turn = 0; turn < turns; turn += 1) {
      conversation.say("user", Math.min(16_000, random.lognormal(900, 1.2)));
      conversation.ask(waitMs, Math.min(1000, random.lognormal(120, 0.8)));
      waitMs = random.exponential(20_000);
    }
  }
  return builder.done("hot-prefix");
}
