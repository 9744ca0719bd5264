/** `npm run build`: compiles assembly/ to build/warmroute.wasm and build/warmroute.debug.wasm. */
import { build } from "./compile.ts";

const only = process.argv[2];
const targets = only === "release" || only === "debug" ? [only] : ["release", "debug"];
if (only !== undefined && targets.length === 2) {
  console.error(`npm run build: expected "release" or "debug", got "${only}"`);
  process.exit(2);
}
let failed = false;
for (const target of targets) {
  const result = build(target as "release" | "debug");
  if (result.ok) {
    console.log(`${result.file}  ${(result.bytes / 1024).toFixed(1)} KiB  ${result.ms} ms`);
  } else {
    failed = true;
    console.error(result.message);
  }
}
process.exit(failed ? 1 : 0);
