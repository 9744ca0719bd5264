/** `npm start`: a real model on two servers behind Envoy, with and without warmroute. */
import { buildIfStale } from "../../tools/compile.ts";
import { findEnvoy } from "../../tools/envoy/find.ts";
import { compare } from "./compare.ts";
import { FETCH_COMMAND, missingParts } from "./parts.ts";
import { report } from "./report.ts";

const missing = missingParts();
if (missing.length > 0) {
  console.error(`Not there: ${missing.join(", ")}. This brings it: ${FETCH_COMMAND}`);
  process.exit(1);
}
try {
  findEnvoy(undefined, console.log);
  const built = buildIfStale();
  if (!built.ok) throw new Error(built.message);
  const runs = await compare(console.log);
  console.log(report(runs).join("\n"));
  process.exit(runs.every(({ outcomes }) => outcomes.every(({ ok }) => ok)) ? 0 : 1);
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
