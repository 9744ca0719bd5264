import { BLOCK_TOKENS } from "../../llm/runs.ts";
import { Random } from "../random.ts";
import { type Workload, WorkloadBuilder } from "../workload.ts";

interface Client {
  client: number;
  rate_per_s_10min: number[];
  cv_10min: number[];
  /** Missing for clients with too few requests. */
  input_tokens_q5?: number[];
  output_tokens_q5?: number[];
}

const WINDOW_MS = 600_000;

/** All clients together at rate 1; the service itself had a hundred times more. */
const REQUESTS_PER_SECOND = 20;

/**
 * Clients of a real service: each sends in the busiest ten minutes of the day by a renewal process
 * of its own rate and burstiness, lengths after its own quantiles. Nothing is known to be shared.
 */
export function readServegen(name: string, clients: readonly Client[], seed: number): Workload {
  const builder = new WorkloadBuilder();
  const totals = Array.from({ length: 144 }, (_, window) =>
    clients.reduce((sum, client) => sum + (client.rate_per_s_10min[window] ?? 0), 0),
  );
  const known = clients.filter((client) => client.input_tokens_q5 && client.output_tokens_q5);
  const busiest = totals.indexOf(Math.max(...totals));
  const scale = REQUESTS_PER_SECOND / (totals[busiest] ?? 1);
  for (const client of clients) {
    const rate = (client.rate_per_s_10min[busiest] ?? 0) * scale;
    if (rate <= 0) continue;
    const random = new Random(seed, `client${client.client}`);
    const lengths = client.input_tokens_q5 && client.output_tokens_q5 ? client : random.pick(known);
    const cv = Math.max(0.2, client.cv_10min[busiest] ?? 1);
    let atMs = random.next() * (1000 / rate);
    for (let index = 0; atMs < WINDOW_MS; index += 1) {
      const promptTokens = Math.max(
        1,
        Math.round(quantile(lengths.input_tokens_q5, random.next())),
      );
      const full = Math.floor(promptTokens / BLOCK_TOKENS);
      builder.add({
        session: `c${client.client}.${index}`,
        tenant: `c${client.client}`,
        atMs,
        after: -1,
        promptTokens,
        blocks: [builder.newBlocks(full), full],
        messages: [{ role: "user", blocks: Math.max(1, full) }],
        outputTokens: Math.max(1, Math.round(quantile(lengths.output_tokens_q5, random.next()))),
      });
      // Gaps with that coefficient of variation, as a lognormal.
      const sigma = Math.sqrt(Math.log(1 + cv * cv));
      atMs += (1000 / rate) * Math.exp(-0.5 * sigma * sigma) * random.lognormal(1, sigma);
    }
  }
  return builder.done(name);
}

/** Linear between the quantiles 0 %, 5 %, … 100 %. */
function quantile(values: readonly number[] | undefined, share: number): number {
  if (values === undefined) return 1;
  const at = share * (values.length - 1);
  const low = values[Math.floor(at)] ?? 0;
  const high = values[Math.ceil(at)] ?? low;
  return low + (high - low) * (at - Math.floor(at));
}
