import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Folder of what is fetched once and kept between clones. */
export function cacheFolder(): string {
  const cache = process.env.XDG_CACHE_HOME;
  return join(cache ? cache : join(homedir(), ".cache"), "warmroute");
}

/** A wheel as it is fetched: `requirement` is `name==version`, `hashes` the SHA-256 of those that may be used. */
export interface Wheel {
  requirement: string;
  hashes: string[];
  /** Name of its folder in the cache. */
  folder: string;
}

/** Brings a wheel through pip, checked by hash, into the cache; `why` says in one line what failed. */
export function fetchWheelInto({ requirement, hashes, folder }: Wheel): {
  ok: boolean;
  why: string;
} {
  const pip = findPip();
  if (pip === undefined) return { ok: false, why: "no Python 3 with pip" };
  mkdirSync(cacheFolder(), { recursive: true });
  // Installed beside its place and renamed into it, so that half a copy is never taken for one.
  const temporary = mkdtempSync(join(cacheFolder(), "fetch-"));
  try {
    const requirements = join(temporary, "requirements.txt");
    const pins = hashes.map((hash) => ` --hash=sha256:${hash}`).join("");
    writeFileSync(requirements, `${requirement}${pins}\n`);
    const target = join(temporary, "target");
    const options = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-cache-dir"];
    const quiet = ["--quiet", "--disable-pip-version-check", "--no-input"];
    const [command = "", ...prefix] = pip;
    const result = spawnSync(
      command,
      [...prefix, "install", ...quiet, ...options, "--target", target, "-r", requirements],
      { encoding: "utf8", timeout: 600_000 },
    );
    if (result.status !== 0) {
      return { ok: false, why: lastLine(result.stderr || result.stdout) || "pip failed" };
    }
    const home = join(cacheFolder(), folder);
    rmSync(home, { recursive: true, force: true });
    renameSync(target, home);
    return { ok: true, why: "" };
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** The first pip that answers. */
function findPip(): string[] | undefined {
  const candidates = [["python3", "-m", "pip"], ["python", "-m", "pip"], ["pip3"], ["pip"]];
  return candidates.find(
    ([command = "", ...args]) => spawnSync(command, [...args, "--version"]).status === 0,
  );
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
