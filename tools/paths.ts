import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** A filter to test in place of the one of the sources: a released one, say. */
export const GIVEN_WASM = process.env.WARMROUTE_WASM;

/** The release filter, as Envoy loads it. */
export const WASM = GIVEN_WASM ?? join(ROOT, "build", "warmroute.wasm");

/** The filter with names and line information, for stack traces. */
export const DEBUG_WASM = join(ROOT, "build", "warmroute.debug.wasm");
