/** `npm run build`: compiles assembly/ to build/warmroute.wasm and build/warmroute.debug.wasm. */
import { commandLine, oneOf } from "./commandline.ts";
import { build } from "./compile.ts";

const TARGETS = ["release", "debug"] as const;

const USAGE = `npm run build -- [release|debug]

Compiles the filter: build/warmroute.wasm, build/warmroute.debug.wasm; both by default.
`;

const targets = commandLine(USAGE, (args) =>
  args.length === 0 ? TARGETS : args.map((arg) => oneOf("npm run build", arg, TARGETS)),
);
let failed = false;
for (const target of targets) {
  const result = build(target);
  if (result.ok) {
    console.log(`${result.file}  ${(result.bytes / 1024).toFixed(1)} KiB  ${result.ms} ms`);
  } else {
    failed = true;
    console.error(result.message);
  }
}
process.exit(failed ? 1 : 0);
