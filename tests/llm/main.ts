import { parseArgs } from "node:util";
import { commandLine, number, oneOf, whole } from "../../tools/commandline.ts";
import { startServers } from "./fleet.ts";
import { DIALECTS } from "./metrics.ts";
import { DEFAULT_SERVER } from "./server.ts";

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

const options = commandLine(HELP, (args) => {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: "string", default: "8000" },
      servers: { type: "string", default: "1" },
      host: { type: "string", default: "127.0.0.1" },
      model: { type: "string", default: DEFAULT_SERVER.model },
      "time-scale": { type: "string", default: "1" },
      dialect: { type: "string", default: "vllm" },
      "cache-tokens": { type: "string", default: "1000000" },
      "chunk-tokens": { type: "string", default: "1" },
    },
  });
  return {
    ...values,
    port: whole("--port", values.port, 0, 65_535),
    servers: whole("--servers", values.servers, 1, 1000),
    timeScale: number("--time-scale", values["time-scale"], 0.001, 1e6),
    dialect: oneOf("--dialect", values.dialect, DIALECTS),
    chunkTokens: whole("--chunk-tokens", values["chunk-tokens"], 1, 1_000_000),
    cacheTokens: whole("--cache-tokens", values["cache-tokens"], 0, 1e12),
  };
});

const fleet = await startServers(options.servers, {
  port: options.port,
  host: options.host,
  model: options.model,
  timeScale: options.timeScale,
  dialect: options.dialect,
  chunkTokens: options.chunkTokens,
  engine: { cacheTokens: options.cacheTokens },
});
process.stdout.write(`listening on ${fleet.addresses.join(", ")}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void fleet.stop().then(() => process.exit(0)));
}
