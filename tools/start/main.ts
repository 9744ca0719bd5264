/** `npm start`: warmroute beside Envoy's own load balancing, live; or in front of real servers. */
import { setMaxListeners } from "node:events";
import { buildIfStale } from "../compile.ts";
import { findEnvoy } from "../envoy/find.ts";
import { compare } from "./compare.ts";
import { front } from "./front.ts";
import { readOptions } from "./options.ts";

const options = readOptions();
const stopped = new AbortController();
// Each pending request listens for the end.
setMaxListeners(0, stopped.signal);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A second Ctrl-C does not wait for anything.
    if (stopped.signal.aborted) process.exit(130);
    stopped.abort();
  });
}

try {
  const envoy = findEnvoy(undefined, console.log);
  console.log("Building the filter, unless it is built");
  const built = buildIfStale();
  if (!built.ok) throw new Error(built.message);
  const run = options.hosts === undefined ? compare : front;
  process.exit(await run(options, envoy.version, stopped.signal));
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
