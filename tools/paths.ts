import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The release filter, as Envoy loads it. */
export const WASM = join(ROOT, "build", "warmroute.wasm");

/** The filter with names and line information, for stack traces. */
export const DEBUG_WASM = join(ROOT, "build", "warmroute.debug.wasm");
