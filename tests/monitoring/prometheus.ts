import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** Where `.ci/run` unpacks Debian's package. */
const CACHE = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
const UNPACKED = join(CACHE, "warmroute", "prometheus", "usr", "bin");

/** A program of Prometheus, `prometheus` or `promtool`: in $PROMETHEUS_BIN, on the PATH, or unpacked; undefined where there is none. */
export function findPrometheus(program: "prometheus" | "promtool"): string | undefined {
  return [process.env.PROMETHEUS_BIN ?? "", ...(process.env.PATH ?? "").split(delimiter), UNPACKED]
    .filter(Boolean)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));
}

export const MISSING = "no promtool: install Prometheus, or set PROMETHEUS_BIN to its folder";
