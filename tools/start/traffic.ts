import { exponential, random, words } from "../seeded.ts";

/** One turn as it will be asked. */
export interface PlannedTurn {
  /** Earliest start, in milliseconds after the traffic's start. */
  atMs: number;
  user: string;
  maxTokens: number;
}

export interface Conversation {
  id: string;
  tenant: number;
  system: string;
  turns: PlannedTurn[];
}

/** Shape of the traffic. Sizes in bytes of text; about four make a token. */
const TENANTS = 40;
const ZIPF_EXPONENT = 1.1;
const SYSTEM_BYTES = { min: 6_000, max: 30_000 };
const MESSAGE_BYTES = 240;
/** A pasted document is this many times as long as a common message, and comes this often. */
const HEAVY_FACTOR = 100;
const HEAVY_SHARE = 0.08;
const TURNS = { min: 4, max: 12 };
const OUTPUT_TOKENS = { min: 24, max: 120 };
const THINK_MS = { least: 700, mean: 2_200 };

/** Conversations that bring `rate` requests per second, the same for the same seed. */
export function planTraffic(seconds: number, rate: number, seed: number): Conversation[] {
  const rand = random(seed);
  const between = ({ min, max }: { min: number; max: number }) => min + rand() * (max - min);
  const systems = Array.from(
    { length: TENANTS },
    (_unused, tenant) =>
      `You are the assistant of tenant ${tenant}. ${words(rand, between(SYSTEM_BYTES))}`,
  );
  const weights = systems.map((_unused, i) => 1 / (i + 1) ** ZIPF_EXPONENT);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const pickTenant = () => {
    let left = rand() * total;
    return weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    });
  };
  const meanTurns = (TURNS.min + TURNS.max) / 2;
  const meanThinkMs = THINK_MS.least + THINK_MS.mean;
  const conversations: Conversation[] = [];
  // Begins before the start, so that the rate is steady from the first second.
  const leadMs = TURNS.max * meanThinkMs;
  for (let atMs = -leadMs; ; ) {
    atMs += exponential(rand, (1000 * meanTurns) / rate);
    if (atMs >= seconds * 1000) break;
    const tenant = Math.max(0, pickTenant());
    const id = `conversation-${conversations.length}`;
    const system = systems[tenant] ?? "";
    const turns: PlannedTurn[] = [];
    let turnMs = atMs;
    for (let turn = Math.round(between(TURNS)); turn > 0; turn--) {
      const bytes =
        MESSAGE_BYTES * (0.3 + rand() * 1.4) * (rand() < HEAVY_SHARE ? HEAVY_FACTOR : 1);
      const user = words(rand, bytes);
      const maxTokens = Math.round(between(OUTPUT_TOKENS));
      if (turnMs >= 0 && turnMs < seconds * 1000) turns.push({ atMs: turnMs, user, maxTokens });
      turnMs += THINK_MS.least + exponential(rand, THINK_MS.mean);
    }
    if (turns.length > 0) conversations.push({ id, tenant, system, turns });
  }
  return conversations;
}
