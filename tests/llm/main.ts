import { parseArgs } from "node:util";
import { startServers } from "./fleet.ts";
import type { MetricsDialect } from "./metrics.ts";
import { DEFAULT_SERVER } from "./server.ts";

const DIALECTS = ["vllm", "vllm-old", "sglang", "tgi", "llamacpp"];

const HELP = `Starts LLM servers over the engine model until it gets SIGINT or SIGTERM.

  --port N          first port; the others follow (8000)
  --servers N       how many (1)
  --host ADDRESS    (127.0.0.1)
  --model NAME      (${DEFAULT_SERVER.model})
  --time-scale X    engine time runs X times as fast as the wall clock (1)
  --dialect NAME    whose metric names: ${DIALECTS.join(", ")} (vllm)
  --cache-tokens N  prefix cache of each server (1000000)
  --chunk-tokens N  tokens in one streamed event (1)
`;

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8000" },
    servers: { type: "string", default: "1" },
    host: { type: "string", default: "127.0.0.1" },
    model: { type: "string", default: DEFAULT_SERVER.model },
    "time-scale": { type: "string", default: "1" },
    dialect: { type: "string", default: "vllm" },
    "cache-tokens": { type: "string", default: "1000000" },
    "chunk-tokens": { type: "string", default: "1" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
if (!DIALECTS.includes(values.dialect)) {
  process.stderr.write(`--dialect: expected one of ${DIALECTS.join(", ")}\n`);
  process.exit(2);
}

const fleet = await startServers(Number(values.servers), {
  port: Number(values.port),
  host: values.host,
  model: values.model,
  timeScale: Number(values["time-scale"]),
  dialect: values.dialect as MetricsDialect,
  chunkTokens: Number(values["chunk-tokens"]),
  engine: { cacheTokens: Number(values["cache-tokens"]) },
});
process.stdout.write(`listening on ${fleet.addresses.join(", ")}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void fleet.stop().then(() => process.exit(0)));
}
