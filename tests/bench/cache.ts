import { join } from "node:path";
import { ROOT } from "../../tools/paths.ts";

/** What the benchmark fetches and builds, kept between runs. */
export const CACHE = join(ROOT, ".cache", "bench");
