import { Random, Zipf } from "../random.ts";
import { type Workload, WorkloadBuilder } from "../workload.ts";
import { Conversation, type GeneratorOptions, newStart, poissonStarts } from "./conversation.ts";

/**
 * Coding agents, after the statistics of real sessions: 15k tokens of tools and system prompt, a
 * context that grows by files and tool output to 100k and more, mostly short answers, a turn some
 * seconds after the last answer.
 */
export function codingAgents(options: GeneratorOptions): Workload {
  const random = new Random(options.seed, "coding-agents");
  const builder = new WorkloadBuilder();
  const products = Array.from({ length: 6 }, () =>
    newStart(builder, [
      ["tools", random.lognormal(10_000, 0.4)],
      ["system", random.lognormal(4000, 0.4)],
    ]),
  );
  const nextStart = poissonStarts(random, 0.5);
  for (let session = 0; builder.requests.length < options.requests; session += 1) {
    const product = random.below(products.length);
    const start = products[product] as (typeof products)[number];
    const names = { session: `s${session}`, tenant: `t${product}`, loop: options.loop };
    const conversation = new Conversation(builder, start, names);
    conversation.say("user", Math.min(60_000, random.lognormal(9000, 1.2)));
    let waitMs = nextStart();
    let contextTokens = 25_000;
    const turns = Math.min(200, random.geometric(45));
    for (let turn = 0; turn < turns && contextTokens < 200_000; turn += 1) {
      const outputTokens = Math.min(6000, random.lognormal(220, 1.1));
      conversation.ask(waitMs, outputTokens);
      const resultTokens = Math.min(30_000, random.lognormal(700, 1.4));
      conversation.say("tool", resultTokens);
      contextTokens += outputTokens + resultTokens;
      waitMs = Math.min(300_000, random.lognormal(6000, 1.2));
    }
  }
  return builder.done("coding-agents");
}

/** Tool agents: most of each prompt is one of some dozens of sets of tools and examples. */
export function toolAgents(options: GeneratorOptions): Workload {
  const random = new Random(options.seed, "tool-agents");
  const builder = new WorkloadBuilder();
  const zipf = new Zipf(80, 0.8);
  const kinds = Array.from({ length: 80 }, () =>
    newStart(builder, [
      ["tools", random.lognormal(5000, 0.4)],
      ["system", random.lognormal(4000, 0.5)],
    ]),
  );
  const nextStart = poissonStarts(random, 5);
  for (let session = 0; builder.requests.length < options.requests; session += 1) {
    const kind = zipf.pick(random);
    const start = kinds[kind] as (typeof kinds)[number];
    const names = { session: `s${session}`, tenant: `t${kind}`, loop: options.loop };
    const conversation = new Conversation(builder, start, names);
    conversation.say("user", random.lognormal(150, 0.7));
    let waitMs = nextStart();
    const turns = random.geometric(6);
    for (let turn = 0; turn < turns; turn += 1) {
      conversation.ask(waitMs, Math.min(400, random.lognormal(60, 0.7)));
      conversation.say("tool", Math.min(12_000, random.lognormal(500, 1.2)));
      waitMs = random.lognormal(1500, 0.8);
    }
  }
  return builder.done("tool-agents");
}
