import { Random } from "../random.ts";
import { type Workload, WorkloadBuilder } from "../workload.ts";
import { Conversation, type GeneratorOptions, newStart, poissonStarts } from "./conversation.ts";

/**
 * Heavy and light: one request in twelve has a prompt a hundred times longer, and all come in
 * bursts. Counts of 10 s have a variance of at least four times their mean.
 */
export function heavyLight(options: GeneratorOptions): Workload {
  const random = new Random(options.seed, "heavy-light");
  const builder = new WorkloadBuilder();
  const light = Array.from({ length: 20 }, () =>
    newStart(builder, [["system", random.lognormal(300, 0.5)]]),
  );
  let atMs = 0;
  for (let burst = 0; builder.requests.length < options.requests; burst += 1) {
    // Bursts of 1 to some dozens of requests within a second or two, on a quiet ground.
    atMs += random.exponential(1500);
    const size = random.next() < 0.75 ? 1 + random.below(4) : 10 + random.below(40);
    let arrivalMs = atMs;
    for (let i = 0; i < size; i += 1) {
      arrivalMs += random.exponential(40);
      const heavy = random.next() < 1 / 12;
      const names = {
        session: `s${burst}.${i}`,
        tenant: heavy ? "batch" : `t${random.below(20)}`,
        loop: options.loop,
        kind: heavy ? "heavy" : "light",
      };
      const start = heavy ? { runs: [], messages: [] } : random.pick(light);
      const conversation = new Conversation(builder, start, names);
      conversation.say(
        "user",
        heavy ? Math.min(90_000, random.lognormal(25_000, 0.5)) : random.lognormal(200, 0.8),
      );
      conversation.ask(arrivalMs, Math.min(800, random.lognormal(heavy ? 200 : 100, 0.7)));
    }
  }
  return builder.done("heavy-light");
}

/**
 * Retrieval: a question over long documents that hardly ever come again, with some popular ones,
 * below a short instruction that all share.
 */
export function retrieval(options: GeneratorOptions): Workload {
  const random = new Random(options.seed, "retrieval");
  const builder = new WorkloadBuilder();
  const instruction = newStart(builder, [["system", 400]]);
  const popular = Array.from({ length: 40 }, () => {
    const document = newStart(builder, [["user", Math.min(40_000, random.lognormal(9000, 0.6))]]);
    return {
      runs: [...instruction.runs, ...document.runs],
      messages: [...instruction.messages, ...document.messages],
    };
  });
  const nextStart = poissonStarts(random, 6);
  for (let session = 0; builder.requests.length < options.requests; session += 1) {
    const again = random.next() < 0.2;
    const names = { session: `s${session}`, tenant: "t0", loop: options.loop };
    const conversation = new Conversation(
      builder,
      again ? random.pick(popular) : instruction,
      names,
    );
    if (!again) conversation.say("user", Math.min(40_000, random.lognormal(9000, 0.6)));
    conversation.say("user", random.lognormal(60, 0.5));
    conversation.ask(nextStart(), Math.min(800, random.lognormal(180, 0.6)));
  }
  return builder.done("retrieval");
}
